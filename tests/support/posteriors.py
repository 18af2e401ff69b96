"""Posteriors of training classes by scikit-learn, on normalised samples themselves."""

import numpy as np
from scipy.special import softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from jcmspl.model.posteriors import Affine
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
    return model.decision_function(zoo.X_new, candidates=[*zoo.seen, *zoo.unseen], seen_penalty=0)


def of_logits(n_classes):
    """Log posteriors that are the samples themselves."""
    return Affine(np.eye(n_classes), np.zeros(n_classes))


def left_out_by_hand(X, numbers, row, shrinkage):
    """Log posteriors of a sample by what is fitted to the others, with the level and the divisor of all."""
    classes = range(numbers.max() + 1)
    every = np.array([X[numbers == k].mean(axis=0) for k in classes])
    level = np.sum((X - every[numbers]) ** 2) / len(X) / X.shape[1]
    others = np.arange(len(X)) != row
    means = np.array([X[others & (numbers == k)].mean(axis=0) for k in classes])
    deviations = (X - means[numbers])[others]
    shrunk = (1 - shrinkage) * deviations.T @ deviations / len(X) + shrinkage * level * np.eye(X.shape[1])
    counts = np.bincount(numbers[others])
    distances = [(X[row] - mean) @ np.linalg.solve(shrunk, X[row] - mean) for mean in means]
    return np.log(counts) - np.array(distances) / 2
