"""The blocks of the README run as they are written, with data made for them; .ci/run runs its two first commands."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from jcmspl import ClassTable
from jcmspl.cli import main
from jcmspl.datasets import Dataset, save_npz, save_xlsa17
from support.animals import make_zoo
from support.encoders import write_config, write_pictures, write_vision

README = Path(__file__).parents[1] / "README.md"
if not README.exists():
    pytest.skip("the README is not here", allow_module_level=True)
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
PYTHON = [code for language, code in BLOCKS if language == "python"]
COMMANDS = [line for language, code in BLOCKS if language == "sh" for line in code.splitlines() if "jcmspl" in line]
# what takes long with all methods
SHORTER = {"compare": ["--methods", "RPL", "--repeats", "0"], "tune": ["--model", "RidgeVS"]}


@pytest.fixture
def zoo(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return make_zoo(n_seen=12, n_unseen=6, n_features=20, n_attributes=20, per_class=20, aligned=True)


def dataset_of(zoo, name):
    X, y = np.vstack([zoo.X, zoo.X_new]), np.concatenate([zoo.y, zoo.y_new])
    is_seen, tested = np.isin(y, zoo.seen), np.arange(len(y)) % 4 == 0
    parts = {"train": is_seen & ~tested, "test_seen": is_seen & tested, "test_unseen": ~is_seen}
    return Dataset(name, X, y, zoo.table, {part: np.flatnonzero(rows) for part, rows in parts.items()})


def test_there_are_blocks():
    assert len(PYTHON) >= 2
    assert {language for language, _ in BLOCKS} == {"python", "sh"}
    assert TEXT.index("```python") < 2000  # on the first screen
    assert (README.parent / "docs" / "_static" / "demo.gif").stat().st_size < 300_000


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_python(number, zoo, capsys):
    """The first block needs nothing; the others are given samples, labels and class vectors."""
    new = dict(zip(("yeti", "okapi"), zoo.table.vectors[:2] + 0.1, strict=True))
    given = {
        "X": zoo.X,
        "y": zoo.y,
        "X_new": zoo.X_new,
        "texts": ClassTable(list(zoo.table), zoo.table.vectors),
        **new,
        "X_few": zoo.X[:3],
        "y_few": np.full(3, "okapi", dtype=object),
    }
    exec(PYTHON[number], {} if number == 0 else given)
    if number == 0:
        assert re.search(r"two|four|six", capsys.readouterr().out)


@pytest.mark.filterwarnings("ignore")
def test_commands(zoo, capsys):
    """In their order, in a folder with the data that they name."""
    save_xlsa17(dataset_of(zoo, "cub"), "cub")
    save_npz(dataset_of(zoo, "cars"), "cars.npz")
    np.save("features.npy", zoo.X_new)
    write_pictures(Path("pictures"))
    write_vision(Path("vision.onnx"))
    write_config(Path())
    ran = []
    for line in COMMANDS:
        command, *arguments = shlex.split(line.split("#")[0])
        if command != "jcmspl":
            assert "pip install" in line  # .ci/run has these
            continue
        assert main([*arguments, *SHORTER.get(arguments[0], []), "--quiet"]) == 0, line
        ran.append(arguments[0])
    assert ran == ["embed", "tune", "evaluate", "evaluate", "predict", "compare"]
