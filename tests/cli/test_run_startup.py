"""The command line starts at once, and ends at once when it is interrupted."""

import os
import signal
import subprocess
import sys

import pytest

from jcmspl.cli import INTERRUPTED, main
from jcmspl.cli._parser import COMMANDS

HEAVY = ("numpy", "sklearn", "scipy", "matplotlib", "jinja2", "tqdm", "pandas", "jcmspl._core", "jcmspl.datasets")

LOADED = """
import sys
from jcmspl.cli import main
try:
    code = main({arguments!r})
except SystemExit as end:
    code = end.code
assert not code, code
print("loaded:", *sys.modules)
"""


def loaded_by(arguments):
    """Return the modules that are loaded when a command has ended."""
    code = LOADED.format(arguments=arguments)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.rpartition("loaded:")[2].split()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        *([name, "--help"] for name in COMMANDS),
        *(["completion", shell] for shell in ("bash", "zsh", "fish", "tcsh")),
    ],
    ids=" ".join,
)
def test_nothing_heavy_is_loaded(arguments):
    loaded = loaded_by(arguments)
    assert "jcmspl.cli" in loaded
    assert [name for name in loaded if name in HEAVY] == []


def test_nothing_is_loaded_of_other_commands():
    loaded = loaded_by(["fit", "--help"])
    assert [name for name in COMMANDS if f"jcmspl.cli.{name}" in loaded] == ["fit"]


# A finder that is asked for every module: when it sees one of a name it says so, and waits for Ctrl-C.
INTERRUPTED_IMPORT = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a child of a shell's background ignores it
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            print("importing", flush=True)
            try:
                time.sleep(60)
            except Exception:
                pass
sys.meta_path.insert(0, Slow())
from jcmspl.cli import main
sys.argv = ["jcmspl", *{arguments!r}]
sys.exit(main())
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("jcmspl.cli._run", ["--version"]),
        ("jcmspl.cli._parser", ["--version"]),
        ("jcmspl.cli.fit", ["fit", "--help"]),
        ("shtab", ["completion", "bash"]),
        ("numpy", ["info", "digits"]),
        ("sklearn", ["fit", "digits", "-o", "never-written"]),
        ("jcmspl._core", ["demo"]),
    ],
)
def test_ctrl_c_while_it_starts(module, arguments, tmp_path):
    code = INTERRUPTED_IMPORT.format(module=module, arguments=arguments)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    try:
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        output, messages = process.communicate(timeout=300)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == INTERRUPTED == 130
    assert messages == "jcmspl: interrupted; nothing was written\n"
    assert output == ""
    assert list(tmp_path.iterdir()) == []


def test_interrupts_of_a_caller_are_its_own(monkeypatch, capsys):
    """In a process of another program, Ctrl-C does not end the process."""
    seen = []
    monkeypatch.setattr("jcmspl.cli.completion.run", lambda _: seen.append(signal.getsignal(signal.SIGINT)))
    before = signal.getsignal(signal.SIGINT)
    assert main(["completion", "bash"]) == 0
    assert seen == [before] == [signal.getsignal(signal.SIGINT)]

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("jcmspl.cli.completion.run", interrupted)
    assert main(["completion", "bash"]) == INTERRUPTED
    assert capsys.readouterr().err == "jcmspl: interrupted; nothing was written\n"
    assert main(["completion", "bash", "--debug"]) == INTERRUPTED
    assert "Traceback" in capsys.readouterr().err
