"""A campaign: so many damaged files that they take hours, some of each layout in turn, and may be interrupted."""

import time

from fuzz.run import peak_memory, run, table

_OF_EACH = 2000  # files of a layout between two states


def damage(state, layouts, n, until=float("inf"), of_each=_OF_EACH):
    """Load damaged files of each layout, n in all, and keep the state of it; stop after a time by time.monotonic."""
    while time.monotonic() < until:
        ranges = {layout: range(state.next.get(layout, 0), n)[:of_each] for layout in layouts}
        jobs = [(layout, number) for layout in layouts for number in ranges[layout]]
        if not jobs:
            return
        counts, failures = run(jobs, state.seed)
        for layout, counted in counts.items():
            found = [failure for failure in failures if failure[0] == layout]
            state.add(layout, ranges[layout].stop, counted, found)
        state.facts["peak memory of a process, MiB"] = max(
            peak_memory(), state.facts.get("peak memory of a process, MiB", 0)
        )
        state.save()
        print(table(state.counts), flush=True)
