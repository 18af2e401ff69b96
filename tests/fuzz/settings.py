"""Random settings of methods: parameters drawn from what their fields declare, and data to fit and to name.

All depends on the seed, the name of the method and the number of the setting. Data are drawn from a mix of what goes
wrong: few samples, less than full rank, duplicates, constant and empty columns, samples of zeros, large offsets, class
vectors that agree in an attribute, are zero or equal; of any type, in any layout of memory, under labels of any type.
"""

import datetime
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fuzz.mutators import generator
from jcmspl import ClassTable
from jcmspl.model import parameters, registry
from jcmspl.support.names import FEATURE_NORMALISATIONS, METRICS, NORMALISATIONS, POWERS

# Methods that take class vectors for samples, and those that take samples without negative features only.
ALIGNED = ("IdentityRidge", "TextPrototypes")
RECTIFIED = ("SSE",)


@dataclass
class Setting:
    """A method with parameters, and its data.

    Attributes
    ----------
    model : an unfitted model
    X, y, table : what it is fitted to: float64, a list of labels, a ClassTable
    given : the same samples as X, of another type or in another layout of memory
    T : samples to name
    seen, unseen : labels, in the order of the table
    usual : whether all parameters have values that one would try
    """

    model: Any
    X: np.ndarray
    y: list
    table: ClassTable
    given: np.ndarray
    T: np.ndarray
    seen: list
    unseen: list
    usual: bool

    @property
    def name(self):
        return type(self.model).__name__

    @property
    def classes(self):
        return [*self.seen, *self.unseen]

    def __str__(self):
        n, m = self.X.shape
        kinds = ", ".join(sorted({type(label).__name__ for label in self.classes}))
        shapes = (
            f"{n} samples x {m} features ({self.given.dtype}), {len(self.seen)} + {len(self.unseen)} classes ({kinds})"
        )
        return f"{self.model!r}; {shapes} x {self.table.vectors.shape[1]} attributes"


def method_of(number):
    """Return the name of the method of a setting: they take turns."""
    names = registry.names()
    return names[number % len(names)]


def drawn(seed, number):
    """Return a setting."""
    name = method_of(number)
    rng = np.random.default_rng(generator(seed, "contract", name, number).getrandbits(64))
    method, usual = registry.get(name), bool(rng.random() < 0.6)
    c, u, d = int(rng.integers(2, 8)), int(rng.integers(1, 5)), int(rng.integers(1, 9))
    m = d if name in ALIGNED or rng.random() < 0.1 else int(rng.integers(1, 25))
    vectors = _class_vectors(rng, c, u, d)
    y = np.r_[np.arange(c), rng.integers(c, size=int(rng.integers(0, 50)))]
    X, T = _samples(rng, vectors, y, c, m, aligned=name in ALIGNED, rectified=name in RECTIFIED)
    given = _as_given(rng, X)
    labels = _labels(rng, c + u)
    sources = [("look", d // 2), ("text", d - d // 2)] if d > 1 and rng.random() < 0.1 else None
    table = ClassTable([labels[i] for i in range(c + u)], vectors, sources=sources)
    values = {}
    for field in fields(method):
        if field.init and field.name != "whitening_components":
            values[field.name] = _value(rng, method, field, usual)
    values |= {
        "progress": False,
        "source_shares": _source_shares(rng, sources),
        "class_weight": _weights(rng, labels[:c]),
    }
    _fit_together(rng, name, values, c, m, d)
    if name not in ALIGNED and rng.random() < 0.2:
        values["whitening_components"] = int(rng.integers(1, m + 1))
    model = method(**values)
    y = [labels[i] for i in y]
    return Setting(
        model, np.asarray(given, dtype=np.float64, order="C"), y, table, given, T, labels[:c], labels[c:], usual
    )


def _value(rng, method, field, usual):
    """Draw the value of a parameter from what its field says."""
    check, default, name = field.metadata.get("check"), field.default, field.name
    own = {
        "max_iter": lambda: int(rng.integers(1, 30)),
        "hidden": lambda: int(rng.integers(1, 30)),
        "n_bits": lambda: int(rng.choice([8, 64, 200])),
        "tol": lambda: default if rng.random() < 0.5 else 0.0,
        "random_state": lambda: int(rng.integers(100)),
        "n_splits": lambda: int(rng.integers(2, 5)),
        "init": lambda: str(rng.choice(["codes", "random"])),
        "metric": lambda: str(rng.choice(METRICS)),
        "whitening_shrinkage": lambda: float(10.0 ** (rng.uniform(-2, 1) if usual else rng.uniform(-12, 6))),
        "ensemble_factors": lambda: None if rng.random() < 0.8 else (0.3, 3.0),
        "expert": lambda: str(rng.choice(["JCMSPL", "RPL", "ESZSL"])),
        "seen_penalty": lambda: 0.0,
        "kernel_width": lambda: float(10.0 ** rng.uniform(-1, 1.5)),  # of the median distance
        "feature_normalisation": lambda: _feature_normalisation(rng),
        "class_normalisation": lambda: str(rng.choice(NORMALISATIONS)),
    }
    is_large = method.NETWORK and name in ("hidden", "max_iter")
    if rng.random() < 0.4 and name != "random_state" and not is_large:
        return default
    if name in method.GRID and (usual or rng.random() < 0.5):
        return method.GRID[name][rng.integers(len(method.GRID[name]))]
    if name in own:
        return own[name]()
    if "names" in field.metadata:
        return str(rng.choice(field.metadata["names"]))
    number = _number(rng, default, usual)
    by_check = {
        "FLAG": lambda: bool(rng.integers(2)),
        "SHARE": lambda: float(rng.choice([0, 1, rng.random(), rng.random()])),
        "POSITIVE": lambda: number,
        "WEIGHT": lambda: 0.0 if rng.random() < 0.1 and not usual else number,
        "WEIGHT_OR_INFINITY": lambda: np.inf if rng.random() < 0.1 else number,
        "COUNT": lambda: int(rng.integers(1, 7)),
        "OPTIONAL_COUNT": lambda: int(rng.integers(1, 7)),
    }
    for kind, value in by_check.items():
        if check is getattr(parameters, kind)["check"]:
            return value()
    return default


def _number(rng, default, usual):
    middle = default if isinstance(default, float) and 0 < default < np.inf else 1.0
    return float(middle * 10.0 ** (rng.uniform(-1, 1) if usual else rng.uniform(-6, 6)))


def _feature_normalisation(rng):
    name = str(rng.choice(FEATURE_NORMALISATIONS))
    power = str(rng.choice(["", "", *POWERS]))
    return name if not power else power if name == "none" else f"{power}+{name}"


def _source_shares(rng, sources):
    return tuple(rng.random(len(sources)).tolist()) if sources and rng.random() < 0.7 else None


def _weights(rng, seen):
    if rng.random() < 0.75:
        return None
    return "balanced" if rng.random() < 0.5 else {label: float(rng.uniform(0.2, 3)) for label in seen}


def _fit_together(rng, name, values, c, m, d):
    """Change parameters that the others, the method or the data do not allow."""
    roots = values["feature_normalisation"].startswith(POWERS)
    if values.get("cosine_share") and (values["metric"] != "cosine" or m != d or roots or values["source_shares"]):
        values["cosine_share"] = 0.0
    if m == 1:  # all samples of length one would be the same
        values["feature_normalisation"] = values["feature_normalisation"].replace("sample_l2", "none", 1)
        values["feature_normalisation"] = values["feature_normalisation"].replace("none+", "")
    if name in ALIGNED:
        values["class_kernel"] = "linear"
    if name in RECTIFIED and any(word in values["feature_normalisation"] for word in ("center", "zscore")):
        values["feature_normalisation"] = "sample_l2+feature_l2"
    if values.get("n_concepts"):
        values["n_concepts"] += c
    if "vocabulary" in values and rng.random() < 0.3:
        values["vocabulary"] = rng.standard_normal((int(rng.integers(1, 9)), d))


def _class_vectors(rng, c, u, d):
    kind = rng.integers(7)
    vectors = rng.standard_normal((c + u, d))
    if kind == 1:
        vectors = rng.integers(0, 2, (c + u, d)).astype(float)
    elif kind == 2:  # an attribute that all training classes share, and all that one other class has
        vectors = rng.integers(0, 2, (c + u, d)).astype(float)
        vectors[:c, -1], vectors[-1] = 1, np.eye(d)[-1]
    elif kind == 3:
        vectors = np.round(2 * vectors)
    elif kind == 4:
        rank = int(rng.integers(1, d + 1))
        vectors = rng.standard_normal((c + u, rank)) @ rng.standard_normal((rank, d))
    elif kind == 5:
        vectors = rng.random((c + u, d)) * 10.0 ** rng.integers(-4, 5)
    elif kind == 6:
        vectors[rng.integers(c + u)] = vectors[rng.integers(c + u)] * rng.integers(2)  # zero, or equal to another
    # of training classes with equal vectors nothing can be told apart: a warning says so
    _, first = np.unique(vectors[:c], axis=0, return_index=True)
    again = np.setdiff1d(np.arange(c), first)
    vectors[again] = rng.standard_normal((len(again), d)) * np.abs(vectors).max(initial=1e-300)
    return vectors


def _samples(rng, vectors, y, c, m, *, aligned, rectified):
    """Draw samples of training classes, and of all classes."""
    d = vectors.shape[1]
    new = rng.integers(len(vectors), size=int(rng.integers(1, 40)))
    labels = np.r_[y, new]
    mixing = np.eye(d) if aligned else rng.standard_normal((d, m))
    clean = vectors[labels] @ mixing
    spread = clean.std() if clean.std() > 0 else 1.0
    X = clean + spread * rng.choice([0.0, 0.1, 0.5, 2.0]) * rng.standard_normal((len(labels), m))
    if rng.random() < 0.15:  # less than full rank
        rank = int(rng.integers(1, m + 1))
        X = X @ rng.standard_normal((m, rank)) @ rng.standard_normal((rank, m))
    if rng.random() < 0.15:  # samples that are there more than once, with the same label
        for row in rng.integers(len(labels), size=len(labels) // 3):
            alike = np.flatnonzero(labels[: len(y)] == labels[row]) if row < len(y) else [row]
            X[row] = X[rng.choice(alike)]
    if rng.random() < 0.15:
        X[:, rng.integers(m)] = rng.choice([0.0, 1.0, 0.1])
    if rng.random() < 0.1:
        X = np.round(3 * X / (np.abs(X).max() or 1))
    if rng.random() < 0.1:
        X[rng.integers(len(X))] = 0
    if rng.random() < 0.1:
        X = X + 10.0 ** rng.integers(0, 5) * spread
    if rng.random() < 0.2:
        X = X * 10.0 ** rng.integers(-5, 6)
    if rectified or rng.random() < 0.2:
        X = np.abs(X)
    return X[: len(y)], X[len(y) :]


def _as_given(rng, X):
    """Return samples in some type and layout of memory."""
    kind = rng.integers(7)
    if kind == 1:
        return X.astype(np.float32)
    if kind == 2 and np.array_equal(X, np.round(X)) and np.abs(X).max(initial=0) < 2**30:
        return X.astype(np.int32)
    if kind == 3:
        return np.asfortranarray(X)
    if kind == 4:
        return np.repeat(X, 2, axis=0)[::2]
    if kind == 5:
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if kind == 6:
        return np.asfortranarray(X.astype(np.float32))
    return X


def _labels(rng, n):
    """Return different labels of one of many types, in no order."""
    numbers = rng.permutation(200)[:n].tolist()
    kinds = (
        int,
        lambda i: i - 100,
        lambda i: f"class {i}",
        lambda i: f"クラス {i}\0" if i % 2 else f"{i} ",
        float,
        lambda i: (i // 10, f"{i % 10}"),
        lambda i: i if i % 2 else str(i),
        lambda i: datetime.date(2020, 1, 1) + datetime.timedelta(days=i),
        lambda i: 2**70 + i,
    )
    kind = kinds[rng.integers(len(kinds))]
    return [kind(i) for i in numbers]
