"""
Seen and unseen classes together
================================

In practice it is not known beforehand whether a sample is of a class that was trained on. Then all classes compete, and a
model prefers those that it knows: generalized recognition.
"""

# %%
# A model that prefers what it knows
# ----------------------------------
# The data are made up: 40 seen classes and 10 unseen ones. A fifth of the samples of seen classes is kept for testing.
# ``seen_penalty=0`` says that the competition is meant to be uncalibrated; without it there would be a warning.
from jcmspl import JCMSPL
from jcmspl.datasets import make_zsl
from jcmspl.metrics import harmonic_mean

data = make_zsl(
    6000, n_features=96, n_attributes=24, n_seen=40, n_unseen=10, noise=2.0, domain_shift=0.4
)
X, y = data.part("trainval")
model = JCMSPL().fit(X, y, class_vectors=data.classes)


def accuracies(model, **how):
    return [
        model.score(*data.part(part), candidates="all", **how)
        for part in ("test_seen", "test_unseen")
    ]


seen, unseen = accuracies(model, seen_penalty=0)
print(f"seen {seen:.1%}, unseen {unseen:.1%}, harmonic mean {harmonic_mean(seen, unseen):.1%}")

# %%
# Calibration
# -----------
# ``calibrate`` lets training classes take turns in the part of unseen ones, and finds what to take off the scores of
# the others. It sees no test data.
model.calibrate(X, y)
seen, unseen = accuracies(model)
print(f"seen {seen:.1%}, unseen {unseen:.1%}, harmonic mean {harmonic_mean(seen, unseen):.1%}")
print(f"taken off the scores of seen classes: {model.seen_penalty_:.3g}")

# %%
# All biases at once
# ------------------
# Each bias is a point of the curve; the area below it (AUSUC) does not depend on the one that was chosen. The circle is
# the calibrated one, the diamond the best that could have been chosen on the test data.
import numpy as np

from jcmspl.plots import SeenUnseenDisplay

both = [data.part(part) for part in ("test_seen", "test_unseen")]
X_test, y_test = (np.concatenate(arrays) for arrays in zip(*both, strict=True))
_ = SeenUnseenDisplay.from_estimator(model, X_test, y_test, name="JCMSPL()")
