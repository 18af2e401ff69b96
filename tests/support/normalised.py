"""Normalisations by scikit-learn, to compare with."""

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
