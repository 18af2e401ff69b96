"""The command line, ``jcmspl``.

A command imports only what its options need until it runs, so that help, the version and completion are fast.
"""

from __future__ import annotations

TYPE_CHECKING = False  # without typing: Ctrl-C during an import here would end in a traceback
if TYPE_CHECKING:
    from collections.abc import Sequence

OK, FAILED, USAGE, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 success, 1 failure, 2 wrong usage, 130 or 143 interrupted."""
    try:
        from jcmspl.cli import _run

        return _run.main(argv)
    except KeyboardInterrupt as stopped:
        import sys

        print(f"jcmspl: interrupted; {str(stopped) or 'nothing was written'}", file=sys.stderr)
        return INTERRUPTED
