"""Modules import from the layers before theirs, and no import hides inside a function to get round that."""

from pathlib import Path

import pytest

import jcmspl
from support.layers import FACADES, LAYERS, sources_of, violations


def in_function(statement):
    return f"def f():\n    {statement}\n"


class TestTheCheck:
    @pytest.mark.parametrize(
        "module",
        [
            "from jcmspl.core.solver import solve",
            "import jcmspl.support.arguments",
            "from jcmspl import support",
            "from jcmspl import _core",
            "from jcmspl._core import __version__",
            "from jcmspl.model.other import Other",  # the same layer
            "from . import other",
            "from .other import Other",
            "from ..data import labels",
            "from .. import core",
            "import numpy as np",
            "from jcmspl_extras.cli import main",  # another package
            in_function("import pandas"),
            in_function("from scipy.io import loadmat"),
            "class A:\n    def f(self):\n        import pandas\n",
        ],
    )
    def test_allowed(self, module):
        assert violations({"model/one.py": module}) == []

    @pytest.mark.parametrize(
        ("module", "reason"),
        [
            ("from jcmspl.cli import main", "jcmspl.cli: model comes before cli"),
            ("import jcmspl.evaluation.accuracy", "jcmspl.evaluation.accuracy: model comes before evaluation"),
            ("from jcmspl import evaluation", "jcmspl.evaluation: model comes before evaluation"),
            ("from ..model_selection import grid", "jcmspl.model_selection: model comes before model_selection"),
            ("from .. import cli", "jcmspl.cli: model comes before cli"),
            ("import jcmspl", "jcmspl: is for users"),
            ("from jcmspl import JCMSPL", "jcmspl.JCMSPL: is for users"),
            ("from jcmspl import __version__", "jcmspl.__version__: is for users"),
            ("from jcmspl.metrics import accuracy", "jcmspl.metrics: is for users"),
            ("from jcmspl import _core, plots", "jcmspl.plots: is for users"),
            ("from jcmspl.exceptions import ModelFileError", "jcmspl.exceptions: is for users"),
            ("from jcmspl.core import nearest", "jcmspl.core.*: its names are for users"),
            ("from ..core import nearest", "jcmspl.core.*: its names are for users"),
            ("from jcmspl.methods import SAE", "jcmspl.methods.*: model comes before methods"),
            ("if TYPE_CHECKING:\n    from jcmspl.cli import main", "jcmspl.cli: model comes before cli"),
            ("try:\n    from jcmspl import cli\nexcept ImportError:\n    pass", "jcmspl.cli: model comes before cli"),
            (in_function("from jcmspl.cli import main"), "jcmspl.cli: model comes before cli"),
            (in_function("from jcmspl.data import labels"), "jcmspl.data: is imported inside a function"),
            (in_function("from . import other"), "jcmspl.model: is imported inside a function"),
            (in_function("import json"), "json: is imported inside a function, although"),
            (in_function("if True:\n        from jcmspl import _core"), "jcmspl._core: is imported inside a function"),
            ("class A:\n    def f(self):\n        import jcmspl.core", "jcmspl.core: is imported inside a function"),
            ("async def f():\n    import jcmspl.core", "jcmspl.core: is imported inside a function"),
            ("import importlib\nx = importlib.import_module('jcmspl.cli')", "jcmspl.cli: model comes before cli"),
            ("f = lambda: __import__('jcmspl.core')", "jcmspl.core: is imported inside a function"),
        ],
    )
    def test_forbidden(self, module, reason):
        (sentence,) = violations({"model/one.py": module})
        path, line, rest = sentence.split(":", 2)
        assert (path, line.isdigit()) == ("model/one.py", True)
        assert rest.strip().startswith(reason)

    def test_every_line_is_named(self):
        tree = {
            "core/a.py": "import os\nimport jcmspl.io\nimport jcmspl.cli\n",
            "data/sub/b.py": "from ...cli import x\n",
        }
        assert violations(tree) == [
            "core/a.py:2: jcmspl.io: core comes before io",
            "core/a.py:3: jcmspl.cli: core comes before cli",
            "data/sub/b.py:1: jcmspl.cli: data comes before cli",
        ]

    def test_each_layer_may_import_those_before_it_and_no_others(self):
        for i, layer in enumerate(LAYERS):
            for j, other in enumerate(LAYERS):
                assert bool(violations({f"{layer}/a.py": f"import jcmspl.{other}.b"})) == (j > i)

    def test_a_package_is_of_its_own_layer(self):
        assert violations({"model/__init__.py": "from .one import One\nfrom jcmspl.data import labels"}) == []
        assert len(violations({"model/__init__.py": "from ..cli import main"})) == 1

    def test_facades_may_import_anything(self):
        assert violations({f"{name}.py": "from jcmspl.cli import main\nimport jcmspl" for name in FACADES}) == []

    def test_a_module_must_have_a_layer(self):
        assert violations({"new.py": "", "extras/a.py": ""}) == [
            "extras/a.py: belongs to no layer",
            "new.py: belongs to no layer",
        ]

    def test_commands_load_when_they_run(self):
        assert violations({"cli/fit.py": in_function("from jcmspl.methods.jcmspl import JCMSPL")}) == []
        assert len(violations({"cli/fit.py": in_function("from jcmspl import JCMSPL")})) == 1

    def test_files(self, tmp_path):
        (tmp_path / "core" / "sub").mkdir(parents=True)
        (tmp_path / "__init__.py").write_text("import jcmspl.cli\n")
        (tmp_path / "core" / "sub" / "a.py").write_text("from ...io import x\n")
        assert list(sources_of(tmp_path)) == ["__init__.py", "core/sub/a.py"]
        assert violations(sources_of(tmp_path)) == ["core/sub/a.py:1: jcmspl.io: core comes before io"]


def test_the_package():
    sources = sources_of(Path(jcmspl.__file__).parent)
    assert len(sources) > 50
    found = violations(sources)
    assert not found, "\n".join(found)
