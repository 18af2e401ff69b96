"""Docstrings of methods, made whole: each parameter and attribute is described once.

A method's docstring describes what is particular to it. The descriptions of everything else come from the docstrings of
the classes it derives from and from the tables below; default values come from the fields, and the example from the
parameters that the method gives for it (EXAMPLE).
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable
from dataclasses import MISSING, Field, fields
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

#: Parameters that several kinds of model have: name, type, meaning.
PARAMETERS = r"""
alpha : float
    Penalty of the regression.
threshold : {"attribute_mean", "overall_mean"}
    A class has an attribute if that is above its mean over the training classes, or above the mean of all attributes of
    these (the same where class vectors are centred). Attributes that all training classes have, or none, do not count.
space : {"semantic", "visual", "concept"}
    Where samples x and class vectors y are compared: B'Ax with y, x with A'By, or Ax with By.
metric : {"cosine", "euclidean", "dot"} or callable
    How they are compared. A function ``D(Z, P)`` returns the distances, (len(Z), len(P)), of samples Z and candidates P
    in that space; it is called with blocks of samples and is slower.
max_iter : int
    The largest number of iterations.
tol : float
    Stop when an iteration lowers the objective by less than this part of it.
random_state : int, Generator, RandomState or None
    Seed of everything that is drawn at random. None: another draw in each fit.
feature_normalisation : str
    How samples are normalised first: one of :data:`jcmspl.data.normalisation.NORMALISATIONS`, or of
    ``FEATURE_NORMALISATIONS`` there, which whiten, with or without ``power+`` or ``auto_power+`` in front. Fitted on
    training data alone.
class_normalisation : str
    How class vectors are normalised first: one of :data:`jcmspl.data.normalisation.NORMALISATIONS`. Fitted on training
    classes alone.
whitening_shrinkage : float
    The larger, the less samples are whitened, if feature_normalisation whitens. Where features depend on each other
    less than 1e-8 counts as 1e-8.
whitening_components : int
    The number of directions that are left of whitened samples: those in which samples and, above all, class means
    vary most. Few of them make methods on samples faster. None: all; samples that are not whitened keep all features.
class_kernel : {"linear", "poly2", "rbf"}
    Kernel of class vectors: their inner products s . t as they are, ``(1 + s . t)^2``, or
    ``exp(-|s - t|^2 / (2 w^2))``. Helps most where class vectors are attributes.
kernel_width : float
    The w of "rbf", in units of the median distance between the vectors of training classes.
source_shares : tuple of float
    Weights of the sources of joined class vectors (:meth:`ClassTable.joined`), in place of equal shares: (3, 1) triples
    the first of two. None: as they were joined.
class_weight : None, "balanced" or dict of label -> weight
    How often each sample of a class counts, times its sample_weight; classes that are not named weigh 1. "balanced" is
    n_samples / (n_classes * count), and needs all labels at once: not for chunks and partial_fit.
seen_mean_share : float or "auto"
    From 0 to 1. The share of the mean of its samples in the prototype of a training class; the rest is the model's
    prediction A'By. "auto": 0.5, or n / (n + 3) for n samples where encoders are found to be aligned. This,
    prediction_count and cosine_share apply in the visual space only; elsewhere classes lie where the model predicts
    them. Calibrate again after changing it.
prediction_count : float
    How many samples the prediction counts for where there are labelled samples of a class that the model was not
    trained on (:meth:`add_classes`). Infinity: such samples are ignored.
cosine_share : float or "auto"
    From 0 to 1. The share of the cosine of sample and class vector themselves in the score, for samples and class
    vectors of one encoder, or of two that were trained to agree, such as CLIP's. "auto": the training data decide
    (``alignment_``). If encoders are aligned, the share is 0.7 for classes without samples and 2.1 / (3 + n) for
    classes with n samples (0.9 for all where training classes have one sample each), and "auto_power" takes no
    roots; otherwise it is 0.
seen_penalty : float
    Subtracted from the scores of training classes where other classes are candidates too (generalized recognition by
    calibrated stacking). :meth:`calibrate` finds a good value.
temperature : float or "auto"
    Temperature of the softmax of :meth:`predict_proba`. "auto": a multiple of the spread of the scores of mean training
    samples, which :meth:`calibrate` chooses (``temperatures_``); 0.35 before.
adaptation_pull : float
    How many samples the prediction of a class counts for in :meth:`adapt`, as a share of the size of the class of a
    usual sample (sizes above 17 count as 17). ``calibrate(X, y, adaptation=True)`` finds a good value.
adaptation_temperature : float
    How surely a sample belongs to the nearest prototype in :meth:`adapt`: the lower, the surer.
    ``calibrate(X, y, adaptation=True)`` finds a good value.
progress : bool
    Whether to show the progress of fits of more than a second, on stderr if that is a terminal.
"""
#: Fitted attributes that are properties of some kinds of model; a method has those that its class has.
SOME_ATTRIBUTES = r"""
visual_projection_ : ndarray of shape (n_concepts, n_features)
    A, for normalised samples.
semantic_projection_ : ndarray of shape (n_concepts, n_attributes)
    B, for normalised class vectors.
objective_ : ndarray of shape (n_iter\_,)
    The objective after each iteration.
n_iter_ : int
    The number of iterations.
converged_ : bool
    Whether iterations ended by tol and not by max_iter.
alignment_ : Alignment or None
    How well class vectors and samples agree: ``share`` of the training classes whose mean sample is nearest to the
    vector of its own class, and ``is_aligned``. None where they differ in length, or roots of samples are taken.
cosine_share_ : float
    The share of the cosine in the score of a class without samples.
"""
#: Fitted attributes of all models.
ATTRIBUTES = r"""
classes_ : ndarray of shape (n_classes,)
    The labels of the training classes, sorted.
unseen_classes_ : ndarray
    The labels of the classes that are known by their vectors alone.
class_table_ : ClassTable
    Both kinds of classes, with their vectors.
class_means_ : ndarray of shape (n_classes, n_features)
    The mean sample of each training class (of samples scaled to length one, if they are).
feature_normalisation_, class_normalisation_ : Normalisation
    The normalisations, fitted.
statistics_ : Statistics
    Sums over all samples so far, to which :meth:`partial_fit` adds.
training_digest_ : SampleDigest or None
    Hashes of all labelled samples that the model was given, by fit, :meth:`partial_fit` and :meth:`add_classes`:
    :func:`jcmspl.evaluate` recognises test samples among them. None where they are not known, as after
    :meth:`fit_from_statistics`.
calibration_ : dict
    The penalties that :meth:`calibrate` chose, by space and metric.
temperatures_ : dict
    The temperatures that :meth:`calibrate` chose, in units of the spread of scores, by space, metric and group of
    candidates.
set_calibration_ : dict, after :meth:`calibrate_sets`
    The calibration of prediction sets in the model's space, by group of candidates: ``at(0.9)`` says what sets promise
    for 90 %, and how large they are.
rejection_ : dict
    The thresholds that :meth:`calibrate_rejection` chose, by space, metric and group of candidates.
seen_penalty_ : float
    The penalty in use: as calibrated for the space and metric, or else seen_penalty.
timings_ : dict
    Seconds per stage of the fit.
n_features_in_ : int
    The number of features.
feature_names_in_ : ndarray of shape (n_features_in\_,), if X had names
    The names of the features.
"""
#: Fitted attributes of models with :meth:`adapt`.
ADAPTATION = r"""
adapted_ : Adaptation, after :meth:`adapt`
    Where classes have moved to.
adaptation_constants_ : tuple of float, after ``calibrate(X, y, adaptation=True)``
    The pull and the temperature that it chose.
"""
#: The same of bilinear methods with ONE_MAP, which learn a map W of samples to class vectors.
PARAMETERS_OF_ONE_MAP = r"""
space : {"semantic", "visual", "concept"}
    Where samples x and class vectors y are compared: Wx with y, or, in the visual space, x with W'y. The concept space
    is the semantic one.
"""
ATTRIBUTES_OF_ONE_MAP = r"""
visual_projection_ : ndarray of shape (n_attributes, n_features)
    W, for normalised samples.
semantic_projection_ : ndarray of shape (n_attributes, n_attributes)
    The identity.
"""
#: The example of methods that give its parameters, EXAMPLE.
_EXAMPLE = """\
>>> from {module} import {name}
>>> from jcmspl.datasets import make_zsl
>>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
>>> model = {name}({parameters}).fit(*data.part("train"), class_vectors=data.classes)
>>> model.score(*data.part("test_unseen")) > 0.2  # chance
True"""
#: The words of the documentation for some names in shapes.
SIZES: dict[int | str, str] = {"m": "n_features", "d": "n_attributes", "c": "n_classes", "i": r"n_iter\_"}
_SECTION = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)


class Entry(NamedTuple):
    """The description of a parameter or attribute, or of several."""

    names: tuple[str, ...]
    kind: str
    text: str

    def __str__(self) -> str:
        header = ", ".join(self.names) + (f" : {self.kind}" if self.kind else "")
        return "\n".join([header, textwrap.indent(self.text, "    ")] if self.text else [header])


class FittedArray:
    """A public attribute that reads the array of its name, without the underscore at its end."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.__name__ = name

    @overload
    def __get__(self, model: None, owner: Any) -> FittedArray: ...
    @overload
    def __get__(self, model: Any, owner: Any) -> npt.NDArray[np.float64]: ...
    def __get__(self, model: Any, owner: Any) -> Any:
        return self if model is None else model._array(self.__name__.removesuffix("_"))


def documented(cls: type[Any]) -> str:
    """Return the whole docstring of a class whose fields are its parameters."""
    sections = _sections(inspect.cleandoc(cls.__doc__ or ""))
    inherited = [_sections(inspect.cleandoc(base.__doc__ or "")) for base in cls.__mro__[1:-1]]
    known: dict[str, dict[str, Entry]] = {}
    one_map = getattr(cls, "ONE_MAP", False)
    for title, table, special in (
        ("Parameters", PARAMETERS, PARAMETERS_OF_ONE_MAP),
        ("Attributes", SOME_ATTRIBUTES + ATTRIBUTES + ADAPTATION, ATTRIBUTES_OF_ONE_MAP),
    ):
        known[title] = _by_name(_entries(table)) | _by_name(_entries(special) if one_map else [])
        if title == "Attributes":
            arrays = _fitted_arrays(cls)
            known[title] = arrays | known[title] | arrays  # first, for they are its own
        for base in reversed(inherited):
            known[title] |= _by_name(_without_default(entry) for entry in _entries(base.get(title, "")))
    given = {field.name: field for field in fields(cls)}
    own = _completed(_entries(sections.get("Parameters", "")), known["Parameters"])
    told = {name for entry in own for name in entry.names}
    order = [name for name in known["Parameters"] if name in given] + list(given)
    rest = [known["Parameters"].get(name, Entry((name,), "", "")) for name in dict.fromkeys(order) if name not in told]
    written = [_with_default(entry, given) for entry in own + rest]
    parts = [sections.pop(""), _section("Parameters", written)]
    attributes = _completed(_entries(sections.get("Attributes", "")), known["Attributes"])
    if hasattr(cls, "ARRAYS"):
        told = {name for entry in attributes for name in entry.names}
        expected = {*_by_name(_entries(ATTRIBUTES + ("" if "adaptation_pull" not in given else ADAPTATION)))}
        there = [name for name in known["Attributes"] if name in expected or hasattr(cls, name)]
        attributes += [known["Attributes"][name] for name in there if name not in told]
    if attributes:
        parts.append(_section("Attributes", attributes))
    sections.pop("Parameters", None)
    sections.pop("Attributes", None)
    if (example := vars(cls).get("EXAMPLE")) is not None:
        module = "jcmspl.methods" if cls.__module__.startswith("jcmspl.methods.") else cls.__module__
        sections["Examples"] = _EXAMPLE.format(module=module, name=cls.__name__, parameters=example)
    parts += [f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items()]
    return "\n\n".join(parts) + "\n"


def _fitted_arrays(cls: type[Any]) -> dict[str, Entry]:
    found = {name: value for base in cls.__mro__ for name, value in vars(base).items() if type(value) is FittedArray}
    entries = {}
    for name, array in found.items():
        shape = [SIZES.get(size, str(size)) for size in cls.ARRAYS[name.removesuffix("_")]]
        kind = f"ndarray of shape ({', '.join(shape)}{',' * (len(shape) == 1)})"
        entries[name] = Entry((name,), kind, textwrap.fill(str(array.__doc__), 116))
    return entries


def _sections(text: str) -> dict[str, str]:
    """Return the sections of a docstring by title; what comes before them is under the empty title."""
    parts = _SECTION.split(text)
    return {title: body.strip("\n") for title, body in zip(["", *parts[1::2]], parts[::2], strict=True)}


def _entries(section: str) -> list[Entry]:
    found: list[Entry] = []
    for block in re.split(r"\n(?=\S)", section.strip("\n")):
        header, _, text = block.partition("\n")
        if header:
            names, _, kind = header.partition(" : ")
            found.append(Entry(tuple(names.split(", ")), kind, textwrap.dedent(text)))
    return found


def _by_name(entries: Iterable[Entry]) -> dict[str, Entry]:
    return {name: entry._replace(names=(name,)) for entry in entries for name in entry.names}


def _completed(entries: list[Entry], known: dict[str, Entry]) -> list[Entry]:
    """Return entries with types and texts that they leave to others."""
    empty = Entry((), "", "")
    found = []
    for entry in entries:
        other = known.get(entry.names[0], empty)
        found.append(entry._replace(kind=entry.kind or other.kind, text=entry.text or other.text))
    return found


def _with_default(entry: Entry, given: dict[str, Field[Any]]) -> Entry:
    """Return the entry of parameters with their default values, unless it tells them in words."""
    if "default" in entry.kind or "optional" in entry.kind or not {*entry.names} <= given.keys():
        return entry
    values = [given[name].default for name in entry.names]
    if MISSING in values:
        return entry
    if values == [None] and "None" not in entry.kind:
        return entry._replace(kind=f"{entry.kind}, optional".lstrip(", "))
    shown = dict.fromkeys(f'"{value}"' if isinstance(value, str) else repr(value) for value in values)
    return entry._replace(kind=f"{entry.kind}, default {' and '.join(shown)}".lstrip(", "))


def _without_default(entry: Entry) -> Entry:
    """Return the description that a base class gives, whose default need not be that of the class."""
    return entry._replace(kind=re.sub(r",? *\b(default .*|optional)$", "", entry.kind))


def _section(title: str, entries: list[Entry]) -> str:
    return "\n".join([title, "-" * len(title), *map(str, entries)])
