"""Normalisations by scikit-learn and by their definition, to compare with."""

import numpy as np
from sklearn.preprocessing import StandardScaler, normalize


def explicit(name, X):
    """The normalisation by scikit-learn, on the samples themselves."""
    if name.startswith("sample_l2"):
        X = normalize(X, axis=1)
        name = name.removeprefix("sample_l2").removeprefix("+") or "none"
    if name.endswith("_unit"):
        X = explicit(name.removesuffix("_unit"), X)
        return X / np.sqrt(np.mean(np.sum(X**2, axis=1)))
    if name == "center":
        return StandardScaler(with_std=False).fit_transform(X)
    if name == "zscore":
        return StandardScaler().fit_transform(X)
    if name == "feature_l2":
        return normalize(X, axis=0)
    return X


def explicitly_whitened(X, labels, shrinkage=5.0, *, unit_rows=False):
    """Whitening by its definition, with an eigendecomposition; it may differ by a rotation."""
    X = normalize(X) if unit_rows else X
    X = X - X.mean(axis=0)
    means = np.array([X[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
    deviations = X - means[labels]
    values, vectors = np.linalg.eigh(deviations.T @ deviations / len(X))
    Z = X @ (vectors / np.sqrt(values + shrinkage * values.mean()))
    return Z / np.sqrt(np.mean(np.sum(Z**2, axis=1)))
