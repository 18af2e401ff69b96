"""
Serving with ONNX
=================

A fitted model and its candidates fold into one linear layer. As an ONNX file it runs wherever ONNX does: in another
language, in a browser, on a device; without this package, and without Python.
"""

# %%
# One layer
# ---------
# Normalisation, projections, metric, candidates and calibration are all in it.
import tempfile
from pathlib import Path

import numpy as np

from jcmspl import JCMSPL
from jcmspl.datasets import make_zsl

data = make_zsl(
    3000, n_features=64, n_attributes=20, n_seen=30, n_unseen=10, noise=2.0, random_state=0
)
X, y = data.part("trainval")
model = JCMSPL().fit(X, y, class_vectors=data.classes).calibrate(X, y)
recogniser = model.recogniser(candidates="all")
print(recogniser)

# %%
# To a file, and out of it
# ------------------------
# ``to_onnx`` needs ``pip install 'jcmspl[onnx]'``; what reads the file needs a runtime alone.
import onnxruntime

path = Path(tempfile.mkdtemp(), "recogniser.onnx")
recogniser.to_onnx(path)
session = onnxruntime.InferenceSession(path)
for value in (*session.get_inputs(), *session.get_outputs()):
    print(f"{value.name:8} {value.type:16} {value.shape}")
print(f"{path.stat().st_size / 1e3:.0f} kB")

# %%
# The names of the classes are in the file, too: all that a server needs.
import json

names = json.loads(session.get_modelmeta().custom_metadata_map["labels"])
X_new, y_new = data.part("test_unseen")
scores, index = session.run(["scores", "index"], {"features": X_new.astype(np.float32)})
print("named:", [names[i] for i in index[:4]], "and they are:", y_new[:4].tolist())

# %%
# The same answers
# ----------------
# The file computes in float32, so scores differ in the last digits.
import matplotlib.pyplot as plt

difference = np.abs(scores - recogniser.scores(X_new))
fig, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
ax.hist(1e6 * difference.ravel() / np.abs(scores).max(), bins=40)
ax.set(
    xlabel="difference, in millionths of the largest score", ylabel="number of scores", yscale="log"
)
print(
    "samples that are named otherwise:",
    int((recogniser.labels[index] != model.predict(X_new)).sum()),
)
