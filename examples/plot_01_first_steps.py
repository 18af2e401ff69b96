"""
First steps: digits never seen
==============================

A model is trained on images of seven handwritten digits. Then it names images of the other three, of which it has seen
none, from descriptions of how they look.
"""

# %%
# What a zero-shot problem consists of
# ------------------------------------
# Samples with labels, and a vector for *every* class, also for those without samples. Here the samples are images of
# 8 x 8 pixels, and the vector of a digit says which strokes, loops and openings it has.
from jcmspl.datasets import load_digits

digits = load_digits()
print(digits.describe())
digits.classes.select(["two", "seven"])

# %%
# Fit
# ---
# :class:`~jcmspl.JCMSPL` has defaults for embeddings, what a network makes of an image or a text. Raw pixels are
# another matter, and the package has settings for them.
from jcmspl import JCMSPL
from jcmspl.datasets.digits import PIXEL_SETTINGS

X, y = digits.part("trainval")
model = JCMSPL(**PIXEL_SETTINGS).fit(X, y, class_vectors=digits.classes)
print("trained on:", *model.classes_)
print("known by their description alone:", *model.unseen_classes_)

# %%
# Name what was never seen
# ------------------------
# ``candidates="unseen"`` lets the three unseen digits compete among themselves.
from jcmspl.plots import ConfusionDisplay

X_new, y_new = digits.part("test_unseen")
named = model.predict(X_new, candidates="unseen")
print(f"named correctly: {(named == y_new).mean():.0%} (chance: 33 %)")
_ = ConfusionDisplay.from_estimator(model, X_new, y_new, candidates="unseen")

# %%
# Why was it named so?
# --------------------
# The score of a class is a sum over its attributes. So the model can say which of them spoke for a name, and which for
# the second-best one.
import matplotlib.pyplot as plt

some = [int((y_new == label).argmax()) for label in digits.unseen]
fig, axes = plt.subplots(1, 3, figsize=(8, 3.4), layout="constrained")
for ax, row in zip(axes, some, strict=True):
    why = model.explain(X_new[row : row + 1], candidates="unseen")[0]
    ax.imshow(X_new[row].reshape(8, 8), cmap="Greys")
    ax.set(xticks=[], yticks=[], title=f"a {y_new[row]}, taken for a {why.label}")
    ax.set_xlabel("\n".join(f"{value:+.3f} {name}" for name, value in why.top(3)), fontsize=8)

# %%
# Keep it
# -------
# A model file is a safetensors file: reading one never runs code from it.
import tempfile
from pathlib import Path

import jcmspl

with tempfile.TemporaryDirectory() as folder:
    model.save(Path(folder, "digits.safetensors"))
    again = jcmspl.load(Path(folder, "digits.safetensors"))
print("the same answers:", (again.predict(X_new, candidates="unseen") == named).all())
