"""
Choosing parameters
===================

There are no samples of unseen classes to choose parameters by. So training classes take turns in their part:
cross-validation over classes.
"""

# %%
# A search
# --------
# :class:`~jcmspl.JCMSPLCV` fits like :class:`~jcmspl.JCMSPL` and chooses how samples are normalised, the kernel of
# class vectors and the weights. Made-up data again: 30 seen classes, 10 unseen ones.
from jcmspl import JCMSPL, JCMSPLCV
from jcmspl.datasets import make_zsl

data = make_zsl(
    2400, n_features=64, n_attributes=20, n_seen=30, n_unseen=10, noise=2.5, domain_shift=0.3
)
X, y = data.part("trainval")
search = JCMSPLCV(progress=False).fit(X, y, class_vectors=data.classes)
chosen = {
    name: value for name, value in search.best_params_.items() if value != getattr(JCMSPL(), name)
}
print("Otherwise than by default:", *map("{0[0]} = {0[1]}".format, chosen.items()), sep="\n  ")
print(f"On held-out training classes: {search.best_score_:.1%} ± {search.best_score_stderr_:.1%}")

# %%
# Every setting that was tried, the chosen one first:
table = search.cv_results_table_
columns = ["whitening_shrinkage", "class_kernel", "semantic_reconstruction"]
table[["mean_test_score", *(f"param_{name}" for name in columns)]].head()

# %%
# The path of λ4
# --------------
# Along the path the model is ridge regression from class vectors to mean samples, and λ4 is its penalty. Differences
# below a standard error are noise, so the search takes, of all settings that are as good as the best, the one nearest
# to where it started.
import matplotlib.pyplot as plt

best = search.best_params_
same = ("feature_normalisation", "whitening_shrinkage", "class_kernel", "kernel_width")
rows = table
for name in same:
    rows = rows[rows[f"param_{name}"] == best[name]]
rows = rows.sort_values("param_semantic_reconstruction")
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.errorbar(
    rows["param_semantic_reconstruction"].astype(float),
    100 * rows["mean_test_score"],
    100 * search.best_score_stderr_,
    marker="o",
    markersize=4,
    capsize=2,
)
ax.axvline(best["semantic_reconstruction"], color="0.5", linestyle=":")
_ = ax.set(
    xscale="log", xlabel="λ4 (semantic_reconstruction)", ylabel="held-out classes, % recognised"
)

# %%
# Beside other methods
# --------------------
# :class:`~jcmspl.ClassSearchCV` is the same search for any method, over a grid of your own or that of the method.
from jcmspl import ClassSearchCV
from jcmspl.methods import ESZSL, SAE

X_new, y_new = data.part("test_unseen")
print(f"JCMSPL, untuned  {JCMSPL().fit(X, y, class_vectors=data.classes).score(X_new, y_new):.1%}")
print(f"JCMSPLCV         {search.score(X_new, y_new):.1%}")
for method in (ESZSL(), SAE()):
    tuned = ClassSearchCV(method, progress=False).fit(X, y, class_vectors=data.classes)
    print(f"{type(method).__name__:16} {tuned.score(X_new, y_new):.1%}")

# %%
# One split of made-up data decides nothing; ``jcmspl compare`` repeats all of this on random splits and says which
# differences are noise.
