"""
More data than memory, and data that comes later
================================================

A fit needs sums over samples, and nothing else. They are collected in one pass, can be continued at any time, and add
up over machines; the result is that of one fit to all samples.
"""

# %%
# A stream
# --------
# ``fit`` takes any iterable of chunks. Here they come from an array; they could come from files, a database or a
# network. ``data.chunks("trainval")`` does the same with a data set on disk.
import numpy as np

from jcmspl import JCMSPL
from jcmspl.datasets import make_zsl

data = make_zsl(
    8000, n_features=96, n_attributes=24, n_seen=40, n_unseen=10, noise=2.0, random_state=0
)
X, y = data.part("trainval")


def chunks(size=500):
    for start in range(0, len(X), size):
        yield X[start : start + size], y[start : start + size]


streamed = JCMSPL().fit(chunks(), class_vectors=data.classes)
at_once = JCMSPL().fit(X, y, class_vectors=data.classes)
print("largest difference:", np.abs(streamed.visual_projection_ - at_once.visual_projection_).max())

# %%
# Samples that come later
# -----------------------
# ``partial_fit`` takes in further samples, also of classes that had none. Accuracy on the ten classes that stay unseen
# grows with the number of classes that have been seen by then, more than with the number of samples.
import matplotlib.pyplot as plt

X_new, y_new = data.part("test_unseen")
order = np.argsort(y, kind="stable")  # class by class
model, samples, seen, shares = JCMSPL(), [], [], []
for some in np.array_split(order, 16):
    model.partial_fit(X[some], y[some], class_vectors=data.classes)
    samples.append(int(model.statistics_.n_samples))
    seen.append(len(model.classes_))
    shares.append(100 * model.score(X_new, y_new, candidates=list(data.unseen)))
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(samples, shares, marker="o", markersize=4)
for place in range(0, 16, 5):
    note = f"{seen[place]} classes"
    ax.annotate(
        note, (samples[place], shares[place]), (4, -14), textcoords="offset points", fontsize=8
    )
_ = ax.set(xlabel="samples so far", ylabel="10 unseen classes, % recognised", ylim=(0, 105))

# %%
# Two machines
# ------------
# :class:`~jcmspl.core.Statistics` are those sums. They pickle, and they add up; their size depends on the number of features
# and classes, and not on the number of samples.
from jcmspl.core import Statistics

names, numbers = np.unique(y, return_inverse=True)
form = {"unit_rows": True, "power": True}  # what the normalisation of the model asks for
here = Statistics(96, len(names), **form).update(X[:3000], numbers[:3000])
there = Statistics(96, len(names), **form).update(X[3000:], numbers[3000:])
model = JCMSPL().fit_from_statistics(here + there, classes=names, class_vectors=data.classes)
print("the same projection:", np.allclose(model.visual_projection_, at_once.visual_projection_))
