"""How long the command line takes to start, against the import of NumPy: CPU time of a process of each."""

import subprocess
import sys
from functools import partial

from question import Contestants, Question, Target, need


def printed(*command: str) -> str:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True).stdout


def cpu_seconds_of_children() -> float:
    resource = need("resource")
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def imports() -> Contestants:
    return Contestants(
        ours=partial(printed, "-c", "from jcmspl import JCMSPL"),
        peer=partial(printed, "-c", "from sklearn.linear_model import Ridge"),
        check=lambda: None,
        clock=cpu_seconds_of_children,
    )


def prepare(arguments: tuple[str, ...], part: str) -> Contestants:
    def check() -> None:
        assert part in printed("-m", "jcmspl", *arguments), f"jcmspl {' '.join(arguments)} prints something else"

    return Contestants(
        ours=partial(printed, "-m", "jcmspl", *arguments),
        peer=partial(printed, "-c", "import numpy"),
        check=check,
        clock=cpu_seconds_of_children,
    )


QUESTIONS = [
    Question(
        f"startup-{name}",
        f"CPU time of jcmspl {' '.join(arguments)} / python -c 'import numpy'",
        Target("time", 2),
        partial(prepare, arguments, part),
        rounds=10,
    )
    for name, arguments, part in (
        ("version", ("--version",), "jcmspl "),
        ("help", ("fit", "--help"), "--model NAME"),
        ("completion", ("completion", "bash"), "complete -"),
    )
]
QUESTIONS.append(
    Question(
        "startup-import", "CPU time of import JCMSPL / of scikit-learn's Ridge", Target("time", 1.2), imports, rounds=10
    )
)


def test_startup(time_side):
    time_side()
