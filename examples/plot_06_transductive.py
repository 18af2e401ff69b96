"""
All samples at hand, without labels
===================================

Often all samples that are to be named are there at once: a folder of photographs, a day of messages. Where they lie
tells where classes are. ``adapt`` moves the model's prototypes there, without a single label.
"""

# %%
# Before and after
# ----------------
# Three unseen digits: where the model expects them is not quite where they are.
from jcmspl import JCMSPL
from jcmspl.datasets import load_digits
from jcmspl.datasets.digits import PIXEL_SETTINGS

digits = load_digits()
model = JCMSPL(**PIXEL_SETTINGS).fit(*digits.part("trainval"), class_vectors=digits.classes)
X_new, y_new = digits.part("test_unseen")
before = model.predict(X_new, candidates="unseen")

model.adapt(X_new, candidates="unseen")
after = model.predict(X_new, candidates="unseen")
print(f"as it is: {(before == y_new).mean():.0%}, adapted: {(after == y_new).mean():.0%}")
print(model.adapted_)

# %%
# What has moved
# --------------
# The images, seen in two dimensions. Filled: named correctly.
import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

plane = PCA(2).fit_transform(X_new / (X_new**2).sum(1, keepdims=True) ** 0.5)
fig, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharex=True, sharey=True, layout="constrained")
for ax, title, named in zip(axes, ("as it is", "adapted"), (before, after), strict=True):
    for colour, label in zip(("#1d4ed8", "#c2410c", "#15803d"), digits.unseen, strict=True):
        of_class = y_new == label
        for right, face in ((True, colour), (False, "none")):
            rows = of_class & ((named == label) == right)
            ax.scatter(*plane[rows].T, s=14, facecolors=face, edgecolors=colour, linewidths=0.7)
        ax.plot([], [], "o", color=colour, label=label)
    ax.set(title=f"{title}: {(named == y_new).mean():.0%}", xticks=[], yticks=[])
_ = axes[0].legend(frameon=False)

# %%
# When not to
# -----------
# A prediction after ``adapt`` depends on the other samples, so its accuracy is not to be compared with methods that see
# one sample at a time. There should be several samples of each candidate: name the candidates that can occur. A warning
# tells of classes that have hardly any samples behind them. Nothing stays adapted that should not:
model.reset_adaptation()
print("as before:", (model.predict(X_new, candidates="unseen") == before).all())
