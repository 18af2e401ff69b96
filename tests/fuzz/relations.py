"""Relations between answers of a model, and between models of the same data in another form."""

import copy
import pickle
import tempfile
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from sklearn.base import clone

from fuzz.settings import ALIGNED
from fuzz.tolerance import Wrong, best, conditioning, last_digits_changed, rounding, same
from jcmspl import ClassTable, load
from jcmspl.core import Statistics
from jcmspl.data.normalisation import parse_feature_normalisation

_FEW = 5  # iterations
# How often data are changed, to see how sure scores are, and by how many last digits: at first, and of a failure.
_CHANGES, _CLOSER_CHANGES = (3, 1), (40, 64)


class Fitted:
    """A setting, the model of it, its scores, and how sure these are."""

    def __init__(self, setting):
        self.setting, self.T, self.rng = setting, setting.T, np.random.default_rng(2)
        self.is_closer = False
        self.model = self.fit()
        self.candidates = setting.classes
        self.scores = self.of(self.model)
        self.recogniser = self.model.recogniser(candidates=self.candidates, seen_penalty=0.0)
        if not np.isfinite(self.scores).all():
            raise Wrong("scores are not finite")

    def to_the_end(self):
        """Return the same with a model that takes a few iterations, and all of them.

        Rounding may end iterations one earlier or later, and after many of them it decides where they are.
        """
        model = self.setting.model
        if not hasattr(model, "tol"):
            return self
        few = {"tol": 0.0, "max_iter": min(model.max_iter, _FEW)}
        return Fitted(replace(self.setting, model=clone(model).set_params(**few)))

    def more_closely(self):
        """Return the same, of which it is to be seen anew, from more changes, how sure the scores are.

        A few changes may all miss a jump, such as where a class is as near as another, or eigenvalues agree; and sums
        carry errors of more than one last digit, and decompositions those of the largest numbers.
        """
        same_one = copy.copy(self)
        same_one.rng, same_one.is_closer = copy.deepcopy(self.rng), True
        same_one.__dict__.pop("allowed", None)
        return same_one

    def fit(self, model=None, **changed):
        """Return a model that is fitted to the data of the setting, some of them in another form."""
        setting = self.setting
        X, y, table = (changed.pop(name, getattr(setting, name)) for name in ("X", "y", "table"))
        return clone(setting.model if model is None else model).fit(X, y, class_vectors=table, **changed)

    def of(self, model, T=None, candidates=None):
        """Return the scores of all candidates, without a bias."""
        names = self.setting.classes if candidates is None else candidates
        return np.asarray(model.decision_function(self.T if T is None else T, candidates=names, seen_penalty=0.0))

    @cached_property
    def exact(self):
        """The effect of rounding on the scores of the model."""
        # the mean may be taken off: samples of zeros are not exact then, but roots of zeros are
        has_roots = parse_feature_normalisation(self.setting.model.feature_normalisation).power is not False
        centre = np.abs(self.setting.X).mean(axis=0) * (not has_roots)

        def changed(rng, by):
            T = last_digits_changed(rng, self.T, by=by)
            return self.of(self.model, T + centre * 2.0**-52 * rng.uniform(-by, by, T.shape))

        return rounding(self.recogniser, self.T, self.scores, changed)

    @cached_property
    def allowed(self):
        """The effect of rounding on the scores of a model that is fitted anew; None if the problem is ill-posed."""
        rng, table, others = np.random.default_rng(1), self.setting.table, []
        changes, by = _CLOSER_CHANGES if self.is_closer else _CHANGES
        for number in range(changes):
            vectors = last_digits_changed(rng, table.vectors, by=by)
            X = last_digits_changed(rng, self.setting.X, by=by)
            if number % 2 and self.is_closer:
                X += 2.0**-52 * np.abs(X).max() * rng.uniform(-by, by, X.shape)
            others.append(self.of(self.fit(X=X, table=ClassTable(list(table), vectors, sources=table.sources))))
        return conditioning(self.scores, others, self.exact, by)

    def positions(self, labels):
        return np.array([self.candidates.index(label) for label in labels])


# Of one model.
def names_are_of_the_best_scores(one):
    for how, found in (
        ("predict", one.model.predict(one.T, candidates=one.candidates, seen_penalty=0.0)),
        ("predict_topk", one.model.predict_topk(one.T, 1, candidates=one.candidates, seen_penalty=0.0)[:, 0]),
        ("the recogniser", one.recogniser.predict(one.T)),
    ):
        best(how, one.positions(found.tolist()), one.scores, one.exact)
    same("the recogniser's scores", one.recogniser.scores(one.T), one.scores, one.exact)


def the_best_come_in_order(one):
    k = len(one.candidates)
    labels, scores = one.model.predict_topk(one.T, candidates=one.candidates, k=k, seen_penalty=0.0, return_scores=True)
    if (np.diff(scores, axis=1) > 0).any():
        raise Wrong("predict_topk: scores rise")
    for row, named in enumerate(labels.tolist()):
        places = one.positions(named)
        if len(set(places.tolist())) != k:
            raise Wrong(f"predict_topk: a class is named twice for sample {row}")
        same("predict_topk", scores[row], one.scores[row, places], 2 * one.exact[row, places].max())


def shares_rank_as_scores_do(one):
    shares = one.model.predict_proba(one.T, candidates=one.candidates, seen_penalty=0.0)
    same("sums of predict_proba", shares.sum(axis=1), np.ones(len(shares)), 1e-9)
    named, highest, rows = shares.argmax(axis=1), one.scores.argmax(axis=1), np.arange(len(shares))
    tie = shares[rows, named] - shares[rows, highest] <= 4 * 2.0**-52  # shares cannot tell scores that are nearly 0
    best("predict_proba", np.where(tie, highest, named), one.scores, one.exact)


def a_bias_is_taken_off_seen_classes(one):
    is_seen = np.array([label in one.setting.seen for label in one.candidates])
    for bias in (one.rng.normal() * np.abs(one.scores).max(), -1e9):
        found = one.model.decision_function(one.T, candidates=one.candidates, seen_penalty=bias)
        expected = one.scores - bias * is_seen
        same(f"seen_penalty={bias:.3g}", found, expected, one.exact + 4 * 2.0**-52 * np.abs(bias))


def a_rejected_sample_scores_low(one):
    threshold = float(np.median(one.scores.max(axis=1)))
    labels = one.model.predict(one.T, candidates=one.candidates, seen_penalty=0.0, reject=threshold)
    off = one.scores.max(axis=1) - threshold
    for row, label in enumerate(labels.tolist()):
        if (label is None) != (off[row] < 0) and abs(off[row]) > one.exact[row].max():
            raise Wrong(f"reject: sample {row} is {label!r}, and scores {off[row]:.3g} above the threshold")


def samples_are_named_one_by_one(one):
    parts = np.split(one.T, np.sort(one.rng.integers(0, len(one.T) + 1, 3)))
    found = [one.of(one.model, part) for part in parts if len(part)]
    same("chunks", np.concatenate(found), one.scores, one.exact)
    rows = one.rng.permutation(len(one.T))[: one.rng.integers(1, len(one.T) + 1)]
    same("some of the samples", one.of(one.model, one.T[rows]), one.scores[rows], one.exact[rows])


def files_and_pickles_hold_all_of_it(one):
    models = {"pickle": pickle.loads(pickle.dumps(one.model))}
    if all(isinstance(label, (str, int, float)) for label in one.candidates):
        with tempfile.TemporaryDirectory() as folder:
            one.model.save(Path(folder) / "model")
            models["file"] = load(Path(folder) / "model")
    for how, model in models.items():
        if repr(model.get_params()) != repr(one.model.get_params()):
            raise Wrong(f"{how}: its parameters are {model.get_params()}")
        if list(model.class_table_) != list(one.model.class_table_):
            raise Wrong(f"{how}: its classes are {list(model.class_table_)}")
        same(how, one.of(model), one.scores, one.exact)


def onnx_is_the_recogniser(one):
    if not hasattr(one.recogniser, "to_onnx"):
        return
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        one.recogniser.to_onnx(Path(folder) / "m.onnx")
        session = onnxruntime.InferenceSession(Path(folder) / "m.onnx")
    T = one.T.astype(np.float32)
    scores, index = session.run(None, {"features": T})
    expected = one.of(one.model, T.astype(np.float64))
    allowed = 4 * rounding(one.recogniser, T, expected, None) + 1e-30
    same("ONNX", scores, expected, allowed)
    best("ONNX", index, expected, allowed)


def single_precision_is_near(one):
    T = one.T.astype(np.float32)
    wide = one.of(one.model, T.astype(np.float64))

    def changed(rng, by):
        return one.of(one.model, last_digits_changed(rng, T.astype(np.float64), np.float32, by))

    allowed = rounding(one.recogniser, T, wide, changed) + one.exact + 1e-30
    if allowed.max() > 0.1 * np.abs(wide).max():  # such as of samples far from the origin
        return
    same("float32", one.of(one.model, T), wide, allowed)
    best(
        "float32",
        one.positions(one.model.predict(T, candidates=one.candidates, seen_penalty=0.0).tolist()),
        wide,
        allowed,
    )


def candidates_do_not_matter_to_each_other(one):
    some = one.rng.permutation(len(one.candidates))[: one.rng.integers(1, len(one.candidates) + 1)]
    names = [one.candidates[i] for i in some]
    # a layer for other candidates is another product of matrices
    allowed = 16 * one.exact[:, some] + 1e-9 * np.abs(one.scores).max()
    same(f"candidates {some.tolist()}", one.of(one.model, candidates=names), one.scores[:, some], allowed)


# Of models that are fitted anew.
def order_of_samples(one):
    rows = one.rng.permutation(len(one.setting.X))
    again = one.fit(X=one.setting.X[rows], y=[one.setting.y[i] for i in rows])
    same("order of samples", one.of(again), one.scores, one.allowed)


def order_of_features(one):
    columns, setting = one.rng.permutation(one.setting.X.shape[1]), one.setting
    table = setting.table
    if compares_with_class_vectors(setting):
        if table.sources:
            return
        table = ClassTable(list(table), table.vectors[:, columns])
    again = one.fit(X=setting.X[:, columns], table=table)
    same("order of features", one.of(again, one.T[:, columns]), one.scores, one.allowed)


def order_of_attributes(one):
    table, model = one.setting.table, clone(one.setting.model)
    if table.sources or compares_with_class_vectors(one.setting):
        return
    columns = one.rng.permutation(table.vectors.shape[1])
    if model.get_params().get("vocabulary") is not None:
        model.set_params(vocabulary=model.vocabulary[:, columns])
    again = one.fit(model, table=ClassTable(list(table), table.vectors[:, columns]))
    same("order of attributes", one.of(again), one.scores, one.allowed)


def names_and_order_of_classes(one):
    setting = one.setting
    names = [f"name {i}" for i in one.rng.permutation(len(setting.classes))]
    name_of = dict(zip(setting.classes, names, strict=True))
    model = clone(setting.model)
    if isinstance(model.class_weight, dict):
        model.set_params(class_weight={name_of[label]: weight for label, weight in model.class_weight.items()})
    rows = one.rng.permutation(len(names))
    labels = [list(setting.table)[i] for i in rows]
    table = ClassTable([name_of[label] for label in labels], setting.table.vectors[rows], sources=setting.table.sources)
    again = one.fit(model, y=[name_of[label] for label in setting.y], table=table)
    same("names of classes", one.of(again, candidates=names), one.scores, one.allowed)


def rotation(one):
    steps = parse_feature_normalisation(one.setting.model.feature_normalisation)
    turns = steps.column in ("none", "center", "center_unit") and not steps.power and steps.power is not None
    if not turns or compares_with_class_vectors(one.setting):
        return
    Q = np.linalg.qr(one.rng.standard_normal((one.setting.X.shape[1],) * 2))[0]
    turned = replace(one.setting, X=one.setting.X @ Q, T=one.T @ Q)
    found, allowed = Fitted(turned), one.allowed
    if one.is_closer:  # an offset that was in one feature is in all of them
        of_turned = found.more_closely().allowed
        if of_turned is None:
            return
        allowed = np.maximum(allowed, of_turned)
    same("rotation", found.scores, one.scores, allowed)


def kind_of_array(one):
    again = one.fit(X=one.setting.given)
    same(f"{one.setting.given.dtype}", one.of(again), one.scores, one.allowed)


def repetition_is_weight(one):
    X, y = one.setting.X, one.setting.y
    weights = one.rng.integers(0, 4, len(X))
    for label in set(y):
        weights[y.index(label)] = 1 + one.rng.integers(3)
    weighed = one.fit(sample_weight=weights.astype(float))
    rows = np.repeat(np.arange(len(X)), weights)
    repeated = one.fit(X=X[rows], y=[y[i] for i in rows])
    expected = one.of(repeated)
    # other data than those of which it is known how sure they are
    allowed = one.allowed * max(1.0, np.abs(expected).max() / max(np.abs(one.scores).max(), 1e-300))
    same("weights", one.of(weighed), expected, 500 * allowed)


def parts_and_statistics(one):
    X, y, table, model = one.setting.X, one.setting.y, one.setting.table, one.setting.model
    if model.NEEDS != "statistics" or model.class_weight == "balanced":
        return
    steps = parse_feature_normalisation(model.feature_normalisation)
    if steps.power is None:  # the samples decide, of which a part may decide otherwise
        return
    if getattr(clone(model), "_needs", "statistics") != "statistics":
        return
    cuts = np.sort(one.rng.integers(0, len(X) + 1, 2))
    parts, rows = clone(model), [part for part in np.split(np.arange(len(X)), cuts) if len(part)]
    for part in rows:
        parts.partial_fit(X[part], [y[i] for i in part], class_vectors=table, refit=part is rows[-1])
    same("partial_fit", one.of(parts), one.scores, one.allowed)
    if model.class_weight is None:
        codes = [one.setting.seen.index(label) for label in y]
        statistics = Statistics.from_samples(X, codes, **steps.scaling(steps.power)._asdict())
        again = clone(model).fit_from_statistics(statistics, one.setting.seen, class_vectors=table)
        same("fit_from_statistics", one.of(again), one.scores, one.allowed)


def comparison_is_set_after_the_fit(one):
    model, changes = one.setting.model, {}
    if "space" in model.COMPARISON:
        changes["space"] = str(one.rng.choice(model.SPACES))
    if "metric" in {*model.COMPARISON} - {*model.FITTED_FOR} and not getattr(model, "cosine_share", 0):
        changes["metric"] = str(one.rng.choice(["cosine", "euclidean", "dot"]))
    if not changes:
        return
    late, early = pickle.loads(pickle.dumps(one.model)), clone(model).set_params(**changes)
    expected = one.of(one.fit(early))
    allowed = one.allowed.max() * max(1.0, np.abs(expected).max() / max(np.abs(one.scores).max(), 1e-300))
    same(f"set_params({changes})", one.of(late.set_params(**changes)), expected, allowed)


def dask_is_memory(one):
    import dask
    import dask.array as da

    with dask.config.set(scheduler="synchronous"):
        T = da.from_array(one.T, chunks=(max(len(one.T) // 3, 1), one.T.shape[1]))
        found = one.model.decision_function(T, candidates=one.candidates, seen_penalty=0.0)
        same("dask", found.compute(), one.scores, one.exact)
        if one.allowed is None or one.model._needs != "statistics":
            return
        X = da.from_array(one.setting.X, chunks=(max(len(one.setting.X) // 3, 1), one.setting.X.shape[1]))
        again = one.fit(X=X)
        same("a fit by dask", one.of(again), one.scores, one.allowed)


def compares_with_class_vectors(setting):
    """Whether samples are compared with class vectors, feature by feature, or may be."""
    alignable = setting.X.shape[1] == setting.table.vectors.shape[1]
    return setting.name in ALIGNED or (alignable and getattr(setting.model, "cosine_share", 0) != 0)


OF_ONE_MODEL = (
    names_are_of_the_best_scores,
    the_best_come_in_order,
    shares_rank_as_scores_do,
    a_bias_is_taken_off_seen_classes,
    a_rejected_sample_scores_low,
    samples_are_named_one_by_one,
    files_and_pickles_hold_all_of_it,
    onnx_is_the_recogniser,
    single_precision_is_near,
    candidates_do_not_matter_to_each_other,
)
OF_FITS = (
    order_of_samples,
    order_of_features,
    order_of_attributes,
    names_and_order_of_classes,
    rotation,
    kind_of_array,
    repetition_is_weight,
    parts_and_statistics,
    comparison_is_set_after_the_fit,
)
