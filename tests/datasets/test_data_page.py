"""The examples on the page on data are true."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
ANIMALS = ["zebra", "horse", "otter", "tiger", "whale", "lynx", "camel", "mole"]


@pytest.mark.skipif(not PAGE.exists(), reason="not run from a source tree")
def test_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.save("features.npy", rng.random((80, 5), dtype=np.float32))
    Path("labels.txt").write_text("\n".join(ANIMALS * 10))
    vectors = "".join(f"{name},{rng.random()},{rng.random()}\n" for name in ANIMALS)
    Path("classes.csv").write_text("class,stripes,hooves\n" + vectors)
    names = {"folder": tmp_path}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        exec(block, names)
    assert sorted(file.name for file in Path("my_data").iterdir()) == ["att_splits.mat", "features.mat"]
    assert len(names["data"].unseen) == 2
