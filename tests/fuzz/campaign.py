"""A campaign: so many damaged files, or settings of methods, that they take hours, and may be interrupted."""

import time

from fuzz.contract import settings_tried
from fuzz.layouts import LAYOUTS
from fuzz.run import peak_memory, run, table

_OF_EACH = 2000  # files of a layout between two states
_SAVED_EVERY = 20  # seconds, for settings


def damage(state, layouts, n, until=float("inf"), of_each=_OF_EACH):
    """Load n damaged files of each layout, of slow ones fewer, and keep the state of it.

    It ends when that is done, or at a time by time.monotonic.
    """
    while time.monotonic() < until:
        ranges = {}
        for layout in layouts:
            slow, first = LAYOUTS[layout].one_in, state.next.get(layout, 0)
            ranges[layout] = range(first, max(n // slow, first))[: of_each // slow]
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


def settings(state, n, methods, until=float("inf")):
    """Try the first n settings of methods, and keep the state of it; give reports of those that fail."""
    saved = time.monotonic()
    for number, name, outcome, report in settings_tried(state.seed, range(state.next.get("contract", 0), n), methods):
        if time.monotonic() > until:
            break
        failures = [(name, number, report)] if outcome == "failed" else []
        state.add(name, number + 1, {outcome: 1}, failures)
        state.next["contract"] = number + 1
        if report:
            yield report
        if time.monotonic() > saved + _SAVED_EVERY:
            state.save()
            saved = time.monotonic()
    state.save()
