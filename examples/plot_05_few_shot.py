"""
A few labelled samples
======================

A zero-shot model becomes a few-shot model as labelled samples of a new class come in, one by one, and nothing is
trained anew: its prediction of where the class is counts for some samples, and each labelled one for itself.
"""

# %%
# From none to ten
# ----------------
# Ten draws of the labelled samples, tested on the others. ``prediction_weight=0`` looks at the samples alone where
# there are some, as a classifier by class means does.
import copy

import matplotlib.pyplot as plt
import numpy as np

from jcmspl import JCMSPL
from jcmspl.datasets import make_zsl

data = make_zsl(
    4000, n_features=96, n_attributes=24, n_seen=40, n_unseen=10, noise=2.5, random_state=1
)
model = JCMSPL().fit(*data.part("trainval"), class_vectors=data.classes)
X_new, y_new = data.part("test_unseen")


def score_with(shots, seed, **parameters):
    rng = np.random.default_rng(seed)
    few = np.concatenate(
        [rng.permutation(np.flatnonzero(y_new == label))[:shots] for label in data.unseen]
    )
    taught = copy.copy(model).set_params(**parameters).add_classes(X=X_new[few], y=y_new[few])
    others = np.setdiff1d(np.arange(len(y_new)), few)
    return taught.score(X_new[others], y_new[others], candidates="unseen")


shots = [1, 2, 3, 5, 10]
fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for name, weight in (("with the prediction", 1.0), ("samples alone", 0.0)):
    draws = np.array(
        [[score_with(n, seed, prediction_weight=weight) for n in shots] for seed in range(10)]
    )
    ax.errorbar(
        shots,
        100 * draws.mean(0),
        100 * draws.std(0),
        marker="o",
        markersize=4,
        capsize=2,
        label=name,
    )
zero = model.score(X_new, y_new, candidates="unseen")
ax.axhline(100 * zero, color="0.5", linestyle=":", label="no labelled sample")
ax.set(
    xlabel="labelled samples of each class", ylabel="10 unseen classes, % recognised", xticks=shots
)
_ = ax.legend(frameon=False, loc="lower right")

# %%
# The prediction is worth most where samples are few, and never forbids what they show. How much it is worth on real
# embeddings is measured in :doc:`the guide </guide>`.
#
# A class that nobody has heard of
# --------------------------------
# A new class comes the same way: its vector, and samples if there are any. ``copy`` leaves the model as it is.
richer = copy.copy(model)
vector = data.classes[data.unseen[0]] + 0.1
richer.add_classes({"newcomer": vector}, X=X_new[y_new == data.unseen[0]][:5], y=["newcomer"] * 5)
print("newcomer" in richer.unseen_classes_, "newcomer" in model.unseen_classes_)
