"""The package as type checkers and editors see it: a user's code under mypy --strict."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import jcmspl

pytest.importorskip("mypy", reason="mypy is not installed")

# Behind each reveal_type: what mypy says of it, as a regular expression.
SNIPPET = r'''
"""A user's code."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

import jcmspl
from jcmspl import JCMSPL, JCMSPLCV, ClassKFold, ClassSearchCV, ClassTable, evaluate, load
from jcmspl.methods import RidgeVS
from jcmspl.datasets import Dataset, load_dataset, load_digits
from jcmspl.metrics import harmonic_mean


def train(X: npt.NDArray[np.float64], y: list[str], vectors: dict[str, list[float]]) -> JCMSPL:
    model = JCMSPL(class_match=0.1, space="visual").fit(X, y, class_vectors=vectors)
    model.calibrate(X, y)
    model.save("model.safetensors", overwrite=True)
    return model


def test(path: Path) -> float:
    model = JCMSPL.load(path)
    digits: Dataset = load_digits()
    report = evaluate(model, digits)
    return harmonic_mean(report.accuracy, 0.5)


def further(X: npt.NDArray[np.float64]) -> RidgeVS:
    table = ClassTable(["a", "b"], [[0.0, 1.0], [1.0, 0.0]])
    return RidgeVS(alpha=2.0).partial_fit(X, ["a"] * len(X), class_vectors=table)


def kernels(X: npt.NDArray[np.float64]) -> None:
    indices, scores = jcmspl.core.nearest(X, X, 3)
    solution = jcmspl.core.solve_sylvester(X, X, X)
    print(indices.shape, scores.dtype, solution.shape, jcmspl.__version__)


data = load_dataset("cub")
samples, labels = data.part("trainval")
reveal_type(JCMSPL)  # def \(.*\) -> jcmspl\.methods\.\w+\.JCMSPL
reveal_type(JCMSPL().fit(samples, labels, class_vectors=data.classes))  # jcmspl\.methods\.\w+\.JCMSPL
reveal_type(RidgeVS().partial_fit(samples, labels))  # jcmspl\.methods\.\w+\.RidgeVS
reveal_type(JCMSPLCV(cv=ClassKFold(3)).fit(samples, labels))  # jcmspl\.model_selection\.\w+\.JCMSPLCV
reveal_type(ClassSearchCV(RidgeVS()).fit(samples, labels))  # jcmspl\.model_selection\.\w+\.ClassSearchCV
reveal_type(JCMSPLCV().fit(samples, labels).predict(samples, candidates="unseen"))  # numpy\.ndarray\[.*\]
reveal_type(JCMSPLCV().fit(samples, labels).calibrate(samples, labels))  # jcmspl\.model_selection\.\w+\.JCMSPLCV
reveal_type(ClassSearchCV(RidgeVS()).score(samples, labels))  # (builtins\.)?float
reveal_type(JCMSPL.load("model"))  # jcmspl\.methods\.\w+\.JCMSPL
reveal_type(load("model").predict(samples))  # numpy\.ndarray\[.*\]
reveal_type(JCMSPL().fit(samples, labels).predict(samples))  # numpy\.ndarray\[.*\]
reveal_type(JCMSPL().fit(samples, labels).score(samples, labels))  # (builtins\.)?float
reveal_type(evaluate(load("model"), data))  # jcmspl\.evaluation\.\w+\.Report
reveal_type(jcmspl.datasets.load_digits())  # jcmspl\.datasets\.dataset\.Dataset
reveal_type(jcmspl.metrics.harmonic_mean(0.5, 0.5))  # (builtins\.)?float
'''

NO_SUCH_NAME = """
import jcmspl
from jcmspl import JCMSLP
from jcmspl.core import nearst
from jcmspl.methods import ESZLS

jcmspl.load_model
jcmspl.methods.RidgeSV
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """A function that runs mypy on some code as a user would, and returns its exit code and lines."""
    folder = tmp_path_factory.mktemp("typing")
    root = Path(jcmspl.__file__).parents[1]
    installed = root in {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    environment = {} if installed else {"MYPYPATH": str(root)}  # mypy does not look where PYTHONPATH points

    def run(code):
        (folder / "snippet.py").write_text(code)
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", "snippet.py"]
        result = subprocess.run(
            command, capture_output=True, text=True, cwd=folder, env={**os.environ, **environment}, check=False
        )
        assert result.stderr == ""
        return result.returncode, [line for line in result.stdout.splitlines() if line.startswith("snippet.py")]

    return run


def test_a_users_code(mypy):
    code, lines = mypy(SNIPPET)
    revealed = [match[1] for line in lines if (match := re.search(r'Revealed type is "(.*)"', line))]
    others = [line for line in lines if "Revealed type" not in line]
    assert others == []
    assert code == 0
    pairs = zip(revealed, re.findall(r"^reveal_type.*  # (.*)", SNIPPET, re.MULTILINE), strict=True)
    assert [(got, expected) for got, expected in pairs if not re.fullmatch(expected, got)] == []


def test_names_that_are_not_there(mypy):
    code, lines = mypy(NO_SUCH_NAME)
    assert code == 1
    for name in ("JCMSLP", "nearst", "ESZLS", "load_model", "RidgeSV"):
        assert any(f'has no attribute "{name}"' in line for line in lines), name
