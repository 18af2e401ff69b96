"""
A few labelled samples
======================

A zero-shot model becomes a few-shot model as labelled samples of a new class come in, one by one, and nothing is
trained anew: its prediction of where the class is counts for some samples, and each labelled one for itself.
"""

# %%
# From none to ten
# ----------------
# Ten draws of the labelled samples, tested on the others; bars are standard errors over the draws. "Samples alone" are
# classified by their means, as if nothing was known of the new classes. These samples are noisy, and the prediction counts
# for ten of them; ``JCMSPLCV`` would choose how many by cross-validation.
import copy

from jcmspl import JCMSPL
from jcmspl.datasets import make_zsl
from jcmspl.plots import FewShotDisplay

data = make_zsl(
    4000, n_features=96, n_attributes=24, n_seen=40, n_unseen=10, noise=2.5, random_state=1
)
model = JCMSPL(prediction_count=10).fit(*data.part("trainval"), class_vectors=data.classes)
X_new, y_new = data.part("test_unseen")
_ = FewShotDisplay.from_estimator(model, X_new, y_new, n_draws=10)

# %%
# The prediction is worth most where samples are few, and never forbids what they show. How much it is worth on real
# embeddings is measured in :doc:`the guide </guide>`.
#
# A class that is new to the model
# --------------------------------
# A new class comes the same way: its vector, and samples if there are any. ``copy`` leaves the model as it is.
richer = copy.copy(model)
vector = data.classes[data.unseen[0]] + 0.1
richer.add_classes({"newcomer": vector}, X=X_new[y_new == data.unseen[0]][:5], y=["newcomer"] * 5)
print("newcomer" in richer.unseen_classes_, "newcomer" in model.unseen_classes_)
