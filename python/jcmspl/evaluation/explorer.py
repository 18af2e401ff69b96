"""Explorer pages: a linear model and some samples in one file, to try in a browser."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from jcmspl.data.class_table import ClassTable
from jcmspl.data.labels import Label
from jcmspl.data.normalisation import Normalisation
from jcmspl.data.reading import read_rows
from jcmspl.datasets.digits import INK, SHAPE, are_digits
from jcmspl.datasets.splits import shuffled_rows
from jcmspl.evaluation.trained_on import with_test_parts
from jcmspl.evaluation.zero_shot import adapted_twin
from jcmspl.model import registry
from jcmspl.model.explanation import ClassMap
from jcmspl.model.prediction import class_map_of
from jcmspl.model.recogniser import LinearRecogniser
from jcmspl.report.pages import Saved, page_script, rendered
from jcmspl.support.arguments import Float64Array, FloatArray, IntArray, as_count, one_of
from jcmspl.support.names import GROUPS
from jcmspl.support.shown import Table, shown

# The default number of samples, if so many fit.
_SAMPLES = 500
# Bytes: the default limit of a page, the limit of the model in it, and the limit of a page.
_USUAL, _MOST_OF_MODEL, _MOST = 8_000_000, 32_000_000, 64_000_000
# Bytes of a float32 in base64.
_NUMBER = 4 * 4 / 3
_LONGEST = 80  # characters of names


@dataclass(frozen=True)
class Step:
    """A step of a story: the name, the accuracy on unseen classes and a sentence about one of the models of a page."""

    name: str
    share: float
    text: str


@dataclass(frozen=True)
class Story:
    """The head of a page, its steps with the same samples under each model, and tables with notes."""

    title: str
    lead: str
    steps: list[Step]
    chance: float
    tables: list[Table]
    notes: list[str]


@dataclass(frozen=True, eq=False)
class Explorer(Saved):
    """The result of :func:`jcmspl.explore`."""

    title: str
    about: list[str]  #: sentences on the content of the page
    rows: IntArray  #: the rows of the data set in the page
    labels: list[Label]  #: the candidate classes, in the order of the scores
    no_new_classes: str | None  #: the reason if the page cannot make up classes
    _content: dict[str, Any] = field(repr=False)
    story: Story | None = None  #: the page begins with it, and the field to draw in is large

    KIND = "an explorer"
    HAS_CHARTS = False

    def to_html(self) -> str:
        """Return the page, without external files."""
        return rendered(
            "explorer.html",
            title=self.title,
            about=self.about,
            no_new_classes=self.no_new_classes,
            story=self.story,
            content=self._content,
            **page_script("explorer.js"),
        )

    def __repr__(self) -> str:
        return f"<Explorer of {self.title}: {len(self.rows):,} samples, {len(self.labels):,} classes>"


def explore(
    model: Any,
    dataset: Any,
    *,
    n_samples: int | None = None,
    candidates: str = "all",
    beside: Mapping[str, Any] | None = None,
    adapt: bool = False,
    random_state: int = 0,
) -> Explorer:
    """Put a fitted linear model and some samples of a data set into one page, to try in a browser.

    The page shows the scores of every sample in it, those of ``decision_function`` in float32. If a linear map leads
    from class vectors to scores, it has sliders for the attributes of a made-up class, and shows the samples that this
    class takes from the others. With :func:`jcmspl.datasets.load_digits` one can draw a digit.

    Parameters
    ----------
    model : estimator
        A fitted model whose scores are linear in the sample; for a search, its best model.
    dataset : Dataset
        The page shows its test samples, and training samples of classes without test samples. If it has no test parts,
        these are the samples that the model was not trained on, as for :func:`jcmspl.evaluate`.
    n_samples : int, optional
        The number of samples, drawn from all classes alike (default: 500, or as many as fit into a page of 8 MB).
    candidates : {"all", "unseen", "seen"}, default "all"
        The classes in the page, with their samples. A page of all classes can switch between the three.
    beside : mapping of str to estimator, optional
        Other models to switch to, by name: fitted to samples of the same kind and linear, too, such as a copy of the
        model with a few labelled samples of new classes.
    adapt : bool, default False
        Whether to put the model into the page a second time, adapted to the unlabelled test samples of the candidates,
        in the visual space. The given model does not change. A model that is already adapted, to all candidates, is in
        the page twice, too. Made-up classes are scored by the model without adaptation. The bias on seen classes, which
        a slider sets, starts at 0 for the adapted model, as it was calibrated for the other one.
    random_state : int, default 0
        The seed of the draw. The samples drawn from a class do not depend on the other classes.

    Returns
    -------
    Explorer
        ``explore(model, dataset).save("explore.html")`` writes the page.

    Examples
    --------
    >>> from jcmspl import JCMSPL, explore
    >>> from jcmspl.datasets import load_digits
    >>> digits = load_digits()
    >>> X, y = digits.part("trainval")
    >>> page = explore(JCMSPL().fit(X, y, class_vectors=digits.classes), digits, n_samples=50)
    >>> page.save("explore.html")  # doctest: +SKIP
    """
    model = getattr(model, "best_estimator_", model)
    check_is_fitted(model)
    one_of(candidates, "candidates", GROUPS)
    seed = as_count(random_state, "random_state", 0)
    dataset = with_test_parts(model, dataset)
    plain, layer = _layer_of(model, dataset, candidates)
    adapted = _adapted_layer(model, dataset, candidates, layer, adapt=adapt)
    labels: list[Label] = layer.labels.tolist()
    table = plain.class_table_.updated(dataset.classes).select(labels)
    layers = [_layer_content("as trained", layer, plain.seen_penalty_)]
    for name, other in (beside or {}).items():
        layers.append(
            _layer_content(name, _layer_beside(name, other, dataset, candidates, labels), other.seen_penalty_)
        )
    if adapted is not None:
        layers.append(_layer_content("adapted to the unlabelled test samples", adapted, 0.0))
    size = layer.weights.size * _NUMBER * len(layers)
    found, why_not = _map_of(plain)
    if found is not None and found.size * _NUMBER > _MOST_OF_MODEL - size:
        found, why_not = None, "the map from class vectors to scores is too large for a page"
    size += 0 if found is None else found.size * _NUMBER
    rows, of_how_many = _drawn(dataset, labels, n_samples, size, seed)
    X = _read(dataset, rows)
    trained = set(plain.classes_.tolist())
    numbers = {label: number for number, label in enumerate(labels)}
    digits, ids = are_digits(dataset.name, X), getattr(dataset, "ids", None)
    content = {
        "classes": [shown(label, _LONGEST) for label in labels],
        "seen": [label in trained and np.array_equal(table[label], plain.class_table_[label]) for label in labels],
        "layers": layers,
        "features": _packed(X),
        "rows": rows.tolist(),
        "ids": None if ids is None else [shown(ids[row], _LONGEST) for row in rows.tolist()],
        "truth": [numbers[label] for label in dataset.y[rows].tolist()],
        "parts": np.where(np.isin(rows, dataset.rows("trainval")), "training", "test").tolist(),
        "image": {"height": SHAPE[0], "width": SHAPE[1], "most": INK} if digits else None,
        "map": None if found is None else _map_content(found, plain, table, pictures=digits),
    }
    title = f"{type(plain).__name__} on {shown(dataset.name)}"
    return Explorer(title, _about(plain, content, of_how_many), rows, labels, why_not, content)


def _layer_of(model: Any, dataset: Any, candidates: str) -> tuple[Any, LinearRecogniser]:
    """Return the model without adaptation, and its linear layer of all candidates without a bias."""
    plain = copy(model).reset_adaptation() if hasattr(model, "adapted_") else model
    layer = plain.recogniser(class_vectors=dataset.classes, candidates=candidates, seen_penalty=0.0)
    if not isinstance(layer, LinearRecogniser):
        raise ValueError(f"a page can hold a model whose scores are linear in the sample, but {_why_not_linear(model)}")
    n, m = layer.weights.shape
    if layer.weights.size * _NUMBER > _MOST_OF_MODEL:
        hint = " with candidates='unseen' (--candidates unseen)" if candidates == "all" else ""
        raise ValueError(
            f"a page of {n:,} classes by {m:,} features would take {layer.weights.size * _NUMBER / 1e6:,.0f} MB, more "
            f"than a browser should be given ({_MOST_OF_MODEL / 1e6:.0f} MB): explore fewer classes{hint}"
        )
    return plain, layer


def _layer_beside(name: str, other: Any, dataset: Any, candidates: str, labels: list[Label]) -> LinearRecogniser:
    """Return the layer of another model for the same samples and classes."""
    check_is_fitted(other)
    if other.n_features_in_ != dataset.n_features:
        raise ValueError(
            f"the samples of {shown(dataset.name)} have {dataset.n_features} features, but the model "
            f"{shown(name)!r} of beside expects {other.n_features_in_}"
        )
    layer = _layer_of(other, dataset, candidates)[1]
    if layer.labels.tolist() != labels:
        raise ValueError(
            f"the model {shown(name)!r} of beside was trained on other classes than the model: give one that has the "
            "same seen classes"
        )
    return layer


def _adapted_layer(
    model: Any, dataset: Any, candidates: str, layer: LinearRecogniser, *, adapt: bool
) -> LinearRecogniser | None:
    """Return the layer of the model adapted to test samples, or of one already adapted to all candidates; else None."""
    if adapt:
        model = _adapted(model, dataset, candidates)
    adapted = getattr(model, "adapted_", None)
    if (
        adapted is None
        or not adapted.is_trusted
        or model.own_space != "visual"
        or any(one not in adapted.classes for one in layer.labels.tolist())
    ):
        return None
    found = model.recogniser(class_vectors=dataset.classes, candidates=candidates, seen_penalty=0.0)
    assert isinstance(found, LinearRecogniser)  # by cosine
    return found


def _layer_content(name: str, layer: LinearRecogniser, seen_penalty: float) -> dict[str, Any]:
    return {
        "name": shown(name, _LONGEST),
        "scaling": layer.scaling._asdict(),
        "weights": _packed(layer.weights),
        "bias": _packed(layer.bias, np.float64),
        "seen_bias": seen_penalty,
    }


def _adapted(model: Any, dataset: Any, candidates: str) -> Any:
    """Return a copy of a model that is adapted to the test samples of the candidates."""
    if not hasattr(model, "adapt"):
        raise ValueError(f"a {type(model).__name__} cannot be adapted to samples: leave adapt=True (--adapt) out")
    parts = [part for part in ("test_seen", "test_unseen") if candidates in ("all", part.removeprefix("test_"))]
    if not any(len(dataset.rows(part)) for part in parts):
        raise ValueError(f"{shown(dataset.name)} has no test samples to adapt to: leave adapt=True (--adapt) out")
    return adapted_twin(model, dataset, candidates, *parts)


def _why_not_linear(model: Any) -> str:
    name = type(model).__name__
    if callable(getattr(model, "metric", None)):
        return f"the metric of this {name} is a function: use set_params(metric='cosine'), 'euclidean' or 'dot'"
    linear = ", ".join(name for name, method in registry.methods().items() if method.LINEAR)
    return f"those of {name} are not: explore a model of {linear}"


def _map_of(model: Any) -> tuple[ClassMap | None, str | None]:
    """Return the linear map from class vectors to scores, or None and the reason why a page cannot have it."""
    kernel = model.class_normalisation_.kernel
    if kernel is not None:
        return None, f"class_kernel={kernel.name!r} maps class vectors nonlinearly"
    if getattr(model, "cosine_share_", 0) and model.own_space == "visual":
        return None, "with aligned encoders class vectors enter the scores in two ways, and sliders support only one"
    found = class_map_of(model)
    if found is None:
        return None, f"{type(model).__name__} has no linear map from class vectors to scores"
    return found, None


def _drawn(
    dataset: Any, labels: list[Label], n_samples: int | None, model_size: float, seed: int
) -> tuple[IntArray, int]:
    """Draw rows of test samples, or of training samples of classes without test samples; return them and their total.

    Classes take turns, the last one, which is unseen, first; the samples of each class are in random order.
    """
    place, every = {label: i for i, label in enumerate(labels)}, dataset.classes.labels.tolist()
    members: dict[Label, IntArray] = {}
    for kind in (("test_unseen", "test_seen"), ("trainval",)):
        of_kind = np.concatenate([dataset.rows(part) for part in kind])
        for own in shuffled_rows(of_kind, dataset.class_numbers, every, seed):
            label = every[dataset.class_numbers[own[0]]]
            if label in place:
                members.setdefault(label, own)
    if not members:
        raise ValueError(f"{shown(dataset.name)} has no samples of the candidate classes: choose other candidates")
    rows = np.concatenate(list(members.values()))
    turn = np.concatenate([np.arange(len(own)) for own in members.values()])
    of_class = np.repeat([place[label] for label in members], [len(own) for own in members.values()])
    n = min(_how_many(dataset.n_features, n_samples, model_size), len(rows))
    return rows[np.lexsort((-of_class, turn))[:n]].astype(np.int64), len(rows)


def _how_many(n_features: int, wanted: int | None, model_size: float) -> int:
    """Return the number of samples in a page with a model of so many bytes."""
    each = n_features * _NUMBER
    if wanted is None:
        room = max(_USUAL - model_size, _USUAL / 4)
        return int(max(min(room // each, _SAMPLES), 1))
    wanted, most = as_count(wanted, "n_samples"), int((_MOST - model_size) // each)
    if wanted > max(most, 1):
        raise ValueError(
            f"{wanted:,} samples of {n_features:,} features would make a page of "
            f"{(model_size + wanted * each) / 1e6:,.0f} MB, more than a browser should be given "
            f"({_MOST / 1e6:.0f} MB): take at most {max(most, 1):,}"
        )
    return wanted


def _read(dataset: Any, rows: IntArray) -> FloatArray:
    ascending = np.sort(rows)
    X: FloatArray = np.asarray(read_rows(dataset.X, ascending))[np.searchsorted(ascending, rows)]
    bad = ~np.isfinite(X).all(axis=1)
    if bad.any():
        raise ValueError(
            f"the sample in row {rows[bad][0]} of {shown(dataset.name)} holds NaN or infinity: remove or replace "
            "such values"
        )
    return X


def _packed(array: npt.NDArray[Any], dtype: npt.DTypeLike = np.float32) -> str:
    """Return the values of an array, little endian, in base64."""
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<"))
    if not np.isfinite(values).all():
        raise ValueError("the samples or the weights of the model are too large for float32: scale the samples first")
    return base64.b64encode(values.tobytes()).decode()


def _map_content(found: ClassMap, model: Any, table: ClassTable, *, pictures: bool) -> dict[str, Any]:
    of_samples: Normalisation = model.feature_normalisation_
    of_classes: Normalisation = model.class_normalisation_
    folded, offsets = of_samples.folded(found.of_samples, np.zeros(len(found.of_samples)))
    return {
        "attributes": [shown(name, _LONGEST) for name in table.attributes or ()] or None,
        "n_attributes": table.n_attributes,
        "vectors": _packed(table.vectors, np.float64),
        "columns": None if of_classes.columns is None else _packed(of_classes.columns, np.float64),
        "unit_rows": of_classes.unit_rows,
        "shift": _packed(of_classes.shift, np.float64),
        "scale": _packed(of_classes.scale, np.float64),
        "of_samples": _packed(folded),
        "offsets": _packed(offsets, np.float64),
        "of_classes": None if found.of_classes is None else _packed(found.of_classes),
        "lengths": None if found.lengths is None else _packed(found.lengths),
        "metric": found.metric,
        "shares": _shares(model, table),
        "picture": _packed(_pictures(model)) if pictures and hasattr(model, "reconstruct_visual") else None,
    }


def _shares(model: Any, table: ClassTable) -> list[float]:
    """Return the share of each prototype that its class vector predicts; the rest comes from samples."""
    if model.own_space != "visual":
        return [1.0] * table.n_classes
    shares: list[float] = model._prototypes_of(table).shares.tolist()
    return shares


def _pictures(model: Any) -> Float64Array:
    """Return the matrix that maps a normalised class vector, with a 1 appended, to the sample expected of the class."""
    d = model.class_table_.n_attributes
    ends = model.feature_normalisation_.undone(model._expected(np.vstack([np.eye(d), np.zeros(d)])))
    ends[:-1] -= ends[-1]
    return np.asarray(ends, dtype=np.float64)


def _about(model: Any, content: dict[str, Any], of_how_many: int) -> list[str]:
    n, n_seen, n_all = len(content["rows"]), sum(content["seen"]), len(content["seen"])
    drawn = f"{n:,} of {of_how_many:,} samples, drawn class by class" if n < of_how_many else f"All {n:,} samples"
    if "training" in content["parts"]:
        drawn += f" ({content['parts'].count('training'):,} of them training samples)"
    kinds = [f"{count:,} {kind}" for count, kind in ((n_seen, "seen"), (n_all - n_seen, "unseen")) if count]
    compared = f", compared in the {model.own_space} space" if len(model.SPACES) > 1 else ""
    metric = getattr(model, "metric", None)
    about = [f"{drawn}; {' and '.join(kinds)} classes{compared}{'' if metric is None else f' by {metric}'}."]
    if len(content["layers"]) > 1 and model.own_space != "visual":
        about.append("Adapted, they are compared in the visual space.")
    return about
