"""
Embeddings of images and texts
==============================

CLIP and its kin have two encoders that were trained to agree: the embedding of a photograph lies near the embedding of
a text that describes it. Class vectors are then embeddings of the names of classes, and recognition works with no
training at all. Is there still something to learn from labelled samples of *other* classes?

**The embeddings here are made up**, for nothing is downloaded to build this page. They imitate three properties that
are known of real ones: images of a class scatter around their mean, images and texts are apart from each other (the
"modality gap"), and the two agree better in some directions than in others. So the figures below tell how the calls
are used, and nothing of how well they do on real embeddings: for these see the rows of clinc150 in
:doc:`the chapter on tuning </tuning>`.
"""

# %%
# Made-up embeddings
# ------------------
# 64 dimensions, 120 classes, 20 of which will be unseen. With real data these are two arrays: ``images`` from the image
# encoder, ``texts`` from the text encoder, of a prompt such as "a photo of a zebra" for each class.
import numpy as np

rng = np.random.default_rng(0)
n_seen, n_unseen, per_class, dim = 100, 20, 20, 64
names = np.array([f"class {number}" for number in range(n_seen + n_unseen)])
meaning = rng.standard_normal((len(names), dim)) * np.linspace(2, 0.2, dim)
agreement = rng.permutation(
    np.linspace(0.3, 0.95, dim)
)  # how well the encoders agree, direction by direction
texts = agreement * meaning + (1 - agreement) * 1.5 * rng.standard_normal(meaning.shape) + 0.5
images = np.repeat(meaning, per_class, axis=0)
images += 2.0 * rng.standard_normal(images.shape) - 0.5

prompts = dict(zip(names, texts, strict=True))
labels = np.repeat(names, per_class)
seen = np.isin(labels, names[:n_seen])
X, y, X_new, y_new = images[seen], labels[seen], images[~seen], labels[~seen]

# %%
# Four ways
# ---------
# :class:`~jcmspl.methods.TextPrototypes` takes the class whose text is nearest, with no training.
# :class:`~jcmspl.JCMSPL` learns a map from texts to images on the 100 seen classes, and forgets that the encoders were
# aligned. ``cosine_share=0.5`` gives half of the score to each. :class:`~jcmspl.methods.IdentityRidge` learns how the map *differs*
# from none.
from jcmspl import JCMSPL
from jcmspl.methods import IdentityRidge, TextPrototypes

models = {
    "TextPrototypes()": TextPrototypes(),
    "JCMSPL()": JCMSPL(),
    "JCMSPL(cosine_share=0.5)": JCMSPL(cosine_share=0.5),
    "IdentityRidge()": IdentityRidge(),
}
scores = {
    name: model.fit(X, y, class_vectors=prompts).score(X_new, y_new)
    for name, model in models.items()
}
for name, score in scores.items():
    print(f"{name:22} {score:.1%}")

# %%
# How many seen classes does it take?
# -----------------------------------
# Learning needs classes, and not only samples. With few of them the plain cosine is hard to beat; which way is best,
# and from where on, is for your own data to say: :class:`~jcmspl.JCMSPLCV` chooses ``cosine_share`` by cross-validation.
import matplotlib.pyplot as plt

numbers = [5, 20, 50, 100]
fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for name, model in models.items():
    shares = []
    for number in numbers:
        few = np.isin(y, names[:number])
        shares.append(100 * model.fit(X[few], y[few], class_vectors=prompts).score(X_new, y_new))
    ax.plot(numbers, shares, marker="o", markersize=4, label=name)
ax.set(xlabel="seen classes in training", ylabel="20 unseen classes, % recognised", ylim=(0, 100))
_ = ax.legend(frameon=False)
