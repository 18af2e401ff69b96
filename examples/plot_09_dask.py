"""
Samples on many machines, with Dask
===================================

Arrays and DataFrames of Dask go where arrays go. Partitions become statistics where they lie, and only these travel.
The example runs on threads of one process; with ``distributed.Client(address)`` above it, the same lines run on a
cluster.
"""

# %%
# Fit
# ---
# 20,000 samples in partitions of 2,500. With real data this is ``da.from_zarr(...)``, or
# ``open_rows("features-*.npy").to_dask()`` for files that workers read themselves.
import dask.array as da

from jcmspl import JCMSPL
from jcmspl.datasets import make_zsl

data = make_zsl(
    20000, n_features=64, n_attributes=24, n_seen=40, n_unseen=10, noise=2.0, random_state=0
)
X_train, y_train = data.part("trainval")
X = da.from_array(X_train, chunks=(2500, 64))
model = JCMSPL(progress=False).fit(X, y_train, class_vectors=data.classes)
print(X)

# %%
# What a partition sends is one matrix of features by features and one row for each class, whatever its rows:
statistics = model.statistics_
sent = 8 * (statistics.gram.size + statistics.class_sums.size)
print(f"a partition: {X_train[:2500].nbytes / 1e3:.0f} kB of samples, {sent / 1e3:.0f} kB are sent")

# %%
# Name
# ----
# Predictions are arrays of Dask, too: nothing is computed before you say so, and samples stay where they are.
X_new, y_new = data.part("test_unseen")
named = model.predict(da.from_array(X_new, chunks=(2500, 64)), candidates="unseen")
print(named)
print(f"correct: {(named.compute() == y_new).mean():.1%}")

# %%
# Is it the same model?
# ---------------------
# Up to rounding it is that of a fit to the array in memory.
import matplotlib.pyplot as plt

in_memory = JCMSPL().fit(X_train, y_train, class_vectors=data.classes)
one, other = (m.decision_function(X_new[:200], candidates="unseen") for m in (in_memory, model))
print(f"largest difference of scores: {abs(one - other).max():.1g}")
fig, ax = plt.subplots(figsize=(4.6, 3.6), layout="constrained")
ax.scatter(one, other, s=4)
ax.set(xlabel="scores of a fit in memory", ylabel="scores of a fit on Dask")
_ = ax.set_aspect("equal")
