"""Evaluation of models on data sets: one call, one report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, overload

import numpy as np

from jcmspl.data.labels import Label
from jcmspl.evaluation.base_to_new import BaseToNew, base_to_new
from jcmspl.evaluation.examples import MOST
from jcmspl.evaluation.zero_shot import HITS, zero_shot
from jcmspl.evaluation.zero_shot_report import Report
from jcmspl.support.arguments import one_of
from jcmspl.support.names import PROTOCOLS


@overload
def evaluate(
    model: Any,
    dataset: Any,
    *,
    protocol: Literal["zero-shot"] = ...,
    spaces: Sequence[str] | None = ...,
    hits: Sequence[int] = ...,
    adapt: bool = ...,
    open_set: bool = ...,
    n_examples: int = ...,
    allow_trained: bool = ...,
    progress: bool = ...,
) -> Report: ...


@overload
def evaluate(
    model: Any,
    dataset: Any,
    *,
    protocol: Literal["base-to-new"],
    shots: Any = ...,
    base: str | Iterable[Label] | None = ...,
    n_draws: int = ...,
    random_state: int = ...,
    progress: bool = ...,
) -> BaseToNew: ...


def evaluate(
    model: Any,
    dataset: Any,
    *,
    protocol: str = PROTOCOLS[0],
    spaces: Sequence[str] | None = None,
    hits: Sequence[int] = HITS,
    adapt: bool = False,
    open_set: bool = False,
    n_examples: int = MOST,
    allow_trained: bool = True,
    shots: Any = None,
    base: str | Iterable[Label] | None = None,
    n_draws: int = 1,
    random_state: int = 0,
    progress: bool = True,
) -> Report | BaseToNew:
    """Evaluate a fitted model on the test parts of a data set, or fit and evaluate it with another protocol.

    Samples are read and scored in chunks.

    Parameters
    ----------
    model : estimator
        Fitted to the training part (trainval) of the data set; for a search, its best model is evaluated. With
        ``protocol="base-to-new"`` an unfitted copy is used, and None means ``JCMSPL()``.
    dataset : Dataset
        With a part "test_unseen" and, for generalized recognition, "test_seen". By default these are all samples of
        classes that the model was not trained on, and the samples of training classes that were held out of the fit.
        Without samples of unseen classes, as for a plain classifier, the test is among the training classes.
    protocol : {"zero-shot", "base-to-new"}, default "zero-shot"
        "base-to-new": the model is fitted to a few labelled samples of half of the classes, the base classes. Test
        samples of base classes are recognised among base classes, those of new classes among new ones, and both among
        all classes. The parameters from ``shots`` on belong to "base-to-new", those before to "zero-shot".
    spaces : sequence of {"semantic", "visual", "concept"}, optional
        Spaces to test (default: all spaces of the model, its own first).
    hits : sequence of int, default (1, 2, 5)
        The k of hit@k; values above the number of candidates are ignored.
    adapt : bool, default False
        Whether to test the model in the visual space once more, adapted to the unlabelled test samples: to those of
        unseen classes among these, and to all of them among all classes. The report calls it transductive; do not
        compare it with methods that see one test sample at a time. The given model does not change, and its own
        adaptation is not evaluated.
    open_set : bool, default False
        Whether to measure how well the best score detects strangers: each test sample of an unseen class is scored with
        all unseen classes as candidates, and with its own class left out. If the model has a rejection threshold
        (``calibrate_rejection``), its effect on both is reported.
    n_examples : int, default 24
        The number of test samples of unseen classes in the report, half of them wrong ones, each with an explanation
        of its prediction. They are drawn at random, the classes in turn, with the pictures that ``dataset.ids`` names;
        a data set without ids has none.
    allow_trained : bool, default True
        Models remember hashes of their training samples, and a TrainedOnWarning tells how many test samples are among
        them. With False, ValueError is raised if most samples of seen or of unseen classes are.
    shots : int, "all" or a sequence of these, default "all"
        Numbers of training samples of each base class; the model is fitted once for each number. Larger draws include
        smaller ones, and a class with fewer samples gives all.
    base : {"first", "random", "own"} or list of labels, optional
        The base classes: the first half of the classes with samples, in the order of the class vectors; a random half;
        or the data set's own seen classes, which is the default if it has unseen ones. Test samples are those of
        "test_seen" and "test_unseen", or a fifth of each class if there are none.
    n_draws : int, default 1
        The number of draws of samples, and with base="random" of halves.
    random_state : int, default 0
        The seed of the first draw; each further draw adds 1.
    progress : bool, default True
        Whether to show progress, on stderr if it is a terminal.

    Returns
    -------
    Report
        Standard recognition (unseen samples among unseen classes; without such samples, seen ones among seen classes)
        and generalized recognition (seen and unseen samples among all classes, without seen classes that the model was
        not trained on), per class and per sample, with 95 % intervals of a bootstrap over classes; a table of classes,
        the most frequent confusions, the seen-unseen curve, settings, timings and versions; as text, Markdown, JSON or
        an HTML page.
    BaseToNew
        With ``protocol="base-to-new"``: per-class accuracies on base and on new classes, their harmonic mean, and the
        generalized ones, for each number of shots and, if samples and class vectors have equal lengths, for the plain
        cosine without training; in the same forms.

    Examples
    --------
    >>> from jcmspl import JCMSPL, evaluate
    >>> from jcmspl.datasets import load_digits
    >>> digits = load_digits()
    >>> X, y = digits.part("trainval")
    >>> model = JCMSPL().fit(X, y, class_vectors=digits.classes)
    >>> report = evaluate(model, digits, spaces=["visual"])
    >>> report.accuracy > 1 / 3, report.harmonic_mean > 0
    (True, True)
    >>> report.save("report.html")  # doctest: +SKIP
    >>> found = evaluate(JCMSPL(), digits, protocol="base-to-new", shots=[2, 8], base="first")
    >>> [row.shots for row in found.rows], found.row(8).base > found.row(2).base
    ([2, 8], True)
    """
    of_protocols: dict[str, dict[str, Any]] = {
        "zero-shot": {
            "spaces": spaces,
            "hits": hits,
            "adapt": adapt,
            "open_set": open_set,
            "n_examples": n_examples,
            "allow_trained": allow_trained,
        },
        "base-to-new": {"shots": shots, "base": base, "n_draws": n_draws, "random_state": random_state},
    }
    options = of_protocols.pop(one_of(protocol, "protocol", PROTOCOLS))
    ((other, others),) = of_protocols.items()
    defaults = evaluate.__kwdefaults__ or {}
    if given := [name for name, value in others.items() if not np.array_equal(value, defaults[name])]:
        raise ValueError(
            f"{', '.join(given)}: protocol={protocol!r} does not have this option. Leave it out, or choose "
            f"protocol={other!r}"
        )
    run: Callable[..., Report | BaseToNew] = base_to_new if protocol == "base-to-new" else zero_shot
    return run(model, dataset, progress=progress, **options)
