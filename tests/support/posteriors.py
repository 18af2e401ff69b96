"""Posteriors of training classes by scikit-learn, on normalised samples themselves."""

import numpy as np
from scipy.special import softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from jcmspl.models.posteriors import Affine
from support.linear import explicit_data

SHRINKAGE, TEMPERATURE = 0.2, 3.0


def normalised(model, zoo):
    """New samples and class vectors (training classes first) as the model sees them, and the numbers of new classes."""
    vectors = zoo.table.select([*zoo.seen, *zoo.unseen]).vectors
    return model.feature_normalisation_.of_rows(zoo.X_new), model.class_normalisation_.of_rows(vectors)


def lda_posterior(zoo, Z, shrinkage=SHRINKAGE, temperature=TEMPERATURE):
    """p(k|x) of samples Z by scikit-learn's discriminant analysis."""
    X, _, _, codes = explicit_data(zoo)
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(X.T, codes)
    return softmax(lda.decision_function(Z) / temperature, axis=1)


def scores_of(model, zoo):
    """Scores of all classes, training classes first."""
    return model.decision_function(zoo.X_new, candidates=[*zoo.seen, *zoo.unseen], seen_bias=0)


def of_logits(n_classes):
    """Log posteriors that are the samples themselves."""
    return Affine(np.eye(n_classes), np.zeros(n_classes))
