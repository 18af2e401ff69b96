"""
Your own CSV files
==================

Three files are all it takes: features, labels and class vectors. This example writes such files, as a spreadsheet or
pandas would, and goes from there to an evaluated model. The numbers are made up, and so are the animals' features.
"""

# %%
# The files
# ---------
# ``classes.csv`` has the name of a class and then its vector, and a header with the names of the attributes.
# ``features.csv`` has a row for each sample, ``labels.txt`` a label on each line.
import tempfile
from pathlib import Path

import numpy as np

TRAITS = ["stripes", "hooves", "swims", "fur", "whiskers", "horns", "large", "night"]
ANIMALS = {
    "zebra": [1, 1, 0, 0, 0, 0, 1, 0],
    "horse": [0, 1, 0, 0, 0, 0, 1, 0],
    "otter": [0, 0, 1, 1, 1, 0, 0, 0],
    "tiger": [1, 0, 0, 1, 1, 0, 1, 1],
    "lynx": [0, 0, 0, 1, 1, 0, 0, 1],
    "seal": [0, 0, 1, 0, 1, 0, 1, 0],
    "goat": [0, 1, 0, 1, 0, 1, 0, 0],
    "bison": [0, 1, 0, 1, 0, 1, 1, 0],
    "mole": [0, 0, 0, 1, 1, 0, 0, 0],
    "whale": [0, 0, 1, 0, 0, 0, 1, 0],
    "badger": [1, 0, 0, 1, 0, 0, 0, 1],
    "gnu": [0, 1, 0, 0, 0, 1, 1, 0],
}
folder = Path(tempfile.mkdtemp(), "animals")
folder.mkdir()
header = ",".join(["class", *TRAITS])
lines = [",".join([name, *map(str, traits)]) for name, traits in ANIMALS.items()]
(folder / "classes.csv").write_text("\n".join([header, *lines]) + "\n")

rng = np.random.default_rng(0)
labels = np.repeat(list(ANIMALS), 30)
features = np.array([ANIMALS[name] for name in labels]) @ rng.standard_normal((8, 20))
features += 3.0 * rng.standard_normal(features.shape)
np.savetxt(folder / "features.csv", features, delimiter=",", fmt="%.4f")
(folder / "labels.txt").write_text("\n".join(labels) + "\n")
print(*(folder / "classes.csv").read_text().splitlines()[:4], sep="\n")

# %%
# Reading them
# ------------
# :func:`~jcmspl.datasets.load_dataset` finds the files by their names. There is no ``split.csv`` among them, so it
# draws a split: three animals are to be unseen, and a fifth of the samples of the others is kept for testing.
from jcmspl.datasets import load_dataset

data = load_dataset(folder, unseen=["tiger", "whale", "bison"], test_seen=0.2, random_state=0)
print(data.describe())

# %%
# Fit and evaluate
# ----------------
# :func:`~jcmspl.evaluate` tests unseen animals among themselves and then, in the second table, all animals together:
# :doc:`another example <plot_04_generalized>` is about that.
from jcmspl import JCMSPL, evaluate

model = JCMSPL().fit(*data.part("trainval"), class_vectors=data.classes)
report = evaluate(model, data, spaces=["visual"], progress=False)
print(report.to_text())

# %%
# The report has charts as well; ``report.save("report.html")`` writes all of it as a page.
_ = report.charts()["classes"].plot()

# %%
# On the command line the same is
#
# .. code-block:: sh
#
#    jcmspl fit FOLDER --unseen 0.25 --calibrate -o animals.safetensors
#    jcmspl evaluate animals.safetensors FOLDER --unseen 0.25 -o report.html
