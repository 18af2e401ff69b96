"""Signals in the midst of commands: they end soon, with the code of the signal, and write nothing."""

import os
import signal
import subprocess

import pytest

from jcmspl.datasets import make_zsl, save_npz
from support.encoders import write_text, write_tokenizer
from support.processes import interruptible

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

# The command line, which says when it has come to a function. What goes on then does not end by itself within a test.
ANNOUNCED = """
import sys, time
from jcmspl import JCMSPL, cli
from jcmspl.methods import RPL
from jcmspl.embed import TextEncoder
original = {function}
def announced(*arguments, **options):
    print("begun", flush=True)
    {then}
{function} = announced
sys.exit(cli.main())
"""
# Short naps: the kernel may hand the signal to another thread, such as one of ONNX Runtime. This interrupts no nap, but
# sets the flag of Python, which the main thread reads between two naps.
WAIT, GO_ON = "while True: time.sleep(0.05)", "return original(*arguments, **options)"
ENDLESS = ("--max-iter", "100000000", "--tol", "0", "--space", "semantic")
COMPARED = ("--methods", "FPL,RPL", "--untuned", "--repeats", "0")  # with Ctrl-C it writes what is done
TEXTS = ("--text", "names.txt", "--model", "t.onnx")


@pytest.mark.parametrize(
    ("command", "function", "then", "name"),
    [
        (("fit", "data.npz", *ENDLESS, "-o", "m.safetensors"), "JCMSPL.fit", GO_ON, "SIGTERM"),
        (("compare", "data.npz", *COMPARED, "-o", "out.md"), "RPL.fit", WAIT, "SIGTERM"),
        (("embed", *TEXTS, "-o", "classes.npz"), "TextEncoder._run", WAIT, "SIGTERM"),
        (("embed", *TEXTS, "-o", "classes.npz"), "TextEncoder._run", WAIT, "SIGINT"),
    ],
    ids=["fit", "compare", "embed", "embed with Ctrl-C"],
)
def test_nothing_is_written(tmp_path, command, function, then, name):
    save_npz(make_zsl(3000, 200, 30, 10, 5), tmp_path / "data.npz")
    write_text(tmp_path / "t.onnx")
    write_tokenizer(tmp_path / "tokenizer.json")
    (tmp_path / "names.txt").write_text("red bird\nblack cat\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    script = ANNOUNCED.format(function=function, then=then)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with interruptible("-c", script, *command, cwd=tmp_path, **pipes) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(getattr(signal, name))
        output, messages = process.communicate(timeout=300)
    assert process.returncode == (130 if name == "SIGINT" else 143), messages
    assert output == ""
    assert "Traceback" not in messages
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
