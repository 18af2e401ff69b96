"""JCMSPL: zero-shot recognition in three lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from jcmspl.core.solver import STATIONARITY, Solution, solve
from jcmspl.data.training import TrainingData
from jcmspl.model.bilinear import Bilinear
from jcmspl.model.concept_codes import Prepared
from jcmspl.model.iterations import Iterative
from jcmspl.model.learning import Monitor
from jcmspl.model.parameters import (
    AUTO,
    INFINITE_WEIGHT,
    OPTIONAL_COUNT,
    SEED,
    SHARE_OR_AUTO,
    WEIGHT,
    FittedArray,
    NamedArrays,
    checked_by,
    estimator,
    field,
)
from jcmspl.support.arguments import Float64Array, as_matrix, as_real_array, one_of
from jcmspl.support.warn import warn_user

if TYPE_CHECKING:
    from typing_extensions import Self

#: The parameters that are the paper's λ1 to λ4.
WEIGHTS = ("semantic_match", "class_match", "visual_reconstruction", "semantic_reconstruction")
#: The paper's own values of them (its Table 5), by data set.
PAPER_WEIGHTS = {
    "AwA": (1e-3, 1e3, 1e7, 1e2),
    "CUB": (1.0, 1e-3, 1e4, 1e-1),
    "SUN": (1e-4, 1e-2, 1e-4, 1e-4),
    "ImNet": (1e-5, 1e-5, 1e1, 1e-4),
}
#: After so many iterations the paper's descent has converged on all of its data sets.
PAPER_ITERATIONS = 35
_STARTS = ("codes", "random")


def _check_factors(value: Any, name: str) -> None:
    if value is None:
        return
    factors = as_real_array(value, name, ndim=1)
    if not len(factors) or not np.all((factors > 0) & np.isfinite(factors)):
        raise ValueError(f"{name} must be None or some numbers above 0, but is {value!r}")


def _check_start(value: Any, name: str) -> None:
    if not isinstance(value, str):
        as_matrix(value, name)
    elif value not in _STARTS:
        raise ValueError(f"{name} must be 'codes', 'random' or an array, but is {value!r}")


@estimator
class JCMSPL(Iterative, Bilinear):
    r"""Joint Concept Matching-Space Projection Learning: recognise classes from descriptions of them.

    Samples x and class vectors y are projected into a common concept space, Ax and By, so that both match codes C,
    which tell the training classes apart, and can be reconstructed from them:

    .. math:: \min_{A,B,C} \tfrac{1}{2}|AX-C|^2 + \tfrac{λ_1}{2}|BY-C|^2 + \tfrac{λ_2}{2}|C-H|^2
              + \tfrac{λ_3}{2}|X-A'C|^2 + \tfrac{λ_4}{2}|Y-B'C|^2

    (Tang, Panahi, Krim: Joint Concept Matching based Learning for Zero-Shot Recognition). A class that had no samples
    in training is then recognised by its vector.

    The defaults are ours and are meant to work untuned: samples are whitened, and compared in the visual space with
    the expected sample of each class. :meth:`paper` gives the form of the paper.

    Parameters
    ----------
    semantic_match : float
        λ1, the weight of matching the projected class vectors to the codes.
    class_match : float
        λ2, the weight of matching the codes to those of the classes, H. Infinity pins the codes to them: the
        solution has a closed form, whose cost grows with the number of classes and not with its cube. The cost of
        finite values grows so too where classes have equal counts, as with class_weight="balanced".
    visual_reconstruction : float
        λ3, the weight of reconstructing the samples from the codes. May be infinite if class_match is: A then holds
        the mean samples of the classes, and in the visual space the model is ridge regression of these on class
        vectors.
    semantic_reconstruction : float
        λ4, the weight of reconstructing the class vectors from the codes. May be infinite if class_match is.
    ensemble_factors : sequence of float
        Average the predictions of several fits, with semantic_reconstruction times each of these.
    n_concepts : int
        k, the dimension of the concept space: at least, and by default, the number of training classes.
    init : {"codes", "random"} or array_like of shape (n_concepts, n_classes)
        The first C: the codes H, normal random numbers for each class (as in the paper), or given codes, a column for
        each class in the order of classes_. All of them usually end in the same optimum; "codes" in fewer iterations.
    space
        Where samples and classes are compared: B'Ax with y (the paper's V->S), x with A'By (S->V), or Ax with By.
    random_state
        Seed of ``init="random"``.

    Attributes
    ----------
    stationarity_ : dict
        The relative gradient of each of the three blocks at the end.

    Notes
    -----
    Threads are those of the BLAS that SciPy brings along; use ``threadpoolctl`` to limit them.

    Examples
    --------
    >>> import numpy as np
    >>> from jcmspl import JCMSPL
    >>> attributes = {"zebra": [1, 1, 0], "horse": [0, 1, 0], "tiger": [1, 0, 1], "lion": [0, 0, 1]}
    >>> rng = np.random.default_rng(0)
    >>> mixing = rng.standard_normal((3, 6))
    >>> def images(name, n=20):
    ...     return attributes[name] @ mixing + 0.1 * rng.standard_normal((n, 6))
    >>> seen = ["zebra", "horse", "lion"]
    >>> X, y = np.vstack([images(name) for name in seen]), np.repeat(seen, 20)
    >>> model = JCMSPL().fit(X, y, class_vectors=attributes)
    >>> model.calibrate(X, y).predict(images("tiger", 2))
    array(['tiger', 'tiger'], dtype='<U5')
    """

    feature_normalisation: str = "auto_power+sample_l2+center+whiten"
    class_normalisation: str = "sample_l2+center_unit"
    space: str = "visual"
    semantic_match: float = field(default=1.0, metadata=WEIGHT)
    class_match: float = field(default=100.0, metadata=INFINITE_WEIGHT)
    visual_reconstruction: float = field(default=10.0, metadata=INFINITE_WEIGHT)
    semantic_reconstruction: float = field(default=1.0, metadata=INFINITE_WEIGHT)
    ensemble_factors: Any = field(default=None, metadata=checked_by(_check_factors))
    seen_mean_share: Any = field(default=AUTO, metadata=SHARE_OR_AUTO)
    cosine_share: Any = field(default=AUTO, metadata=SHARE_OR_AUTO)
    n_concepts: int | None = field(default=None, metadata=OPTIONAL_COUNT)
    init: Any = field(default="codes", metadata=checked_by(_check_start, may_be_array=True))
    tol: float = 1e-6
    random_state: Any = field(default=None, metadata=SEED)

    PAPER = "Tang, Panahi, Krim: Joint Concept Matching based Learning for Zero-Shot Recognition"
    GRID = {
        "semantic_match": (1e-2, 1.0, 1e2),
        "class_match": (1e-2, 1.0, 1e2),
        "visual_reconstruction": (1e-1, 1e1, 1e3),
        "semantic_reconstruction": (1e-2, 1.0, 1e2),
        "space": ("semantic", "concept", "visual"),
    }
    HEAVY_IS_SIMPLE = False
    VARIANTS = {
        "JCMSPL1": {"class_match": 0.0},
        "JCMSPL0": {"visual_reconstruction": 0.0, "semantic_reconstruction": 0.0},
        "IPL": {"class_match": 0.0, "visual_reconstruction": 0.0, "semantic_reconstruction": 0.0},
    }
    ARRAYS = {**Bilinear.ARRAYS, "objective_terms": ("i", 5), "stationarity": (len(STATIONARITY),), "converged": ()}

    @classmethod
    def paper(cls, data_set: str = "CUB", **changes: Any) -> Self:
        """Return a model, not fitted yet, in the form of the paper: its weights, its start, nothing normalised.

        The paper gives weights for each of its data sets and random matrices as a start, and reports that 35 iterations
        were enough for all of them. It recognises in the semantic space (V->S), as here, and in the visual one (S->V:
        ``space="visual"``). It names no normalisation of features or class vectors, so there is none here, and leaves
        the distance and the criterion of convergence open: the cosine and tol are ours.

        Parameters
        ----------
        data_set : {"AwA", "CUB", "SUN", "ImNet"}, default "CUB"
            Whose weights, in upper or lower case.
        **changes
            Parameters that are to be otherwise.

        Examples
        --------
        >>> from jcmspl import JCMSPL
        >>> model = JCMSPL.paper("AwA", space="visual", random_state=0)
        >>> model.visual_reconstruction, model.feature_normalisation
        (10000000.0, 'none')
        """
        known = {name.lower(): name for name in PAPER_WEIGHTS}
        name = one_of(known.get(str(data_set).lower(), data_set), "data_set", tuple(PAPER_WEIGHTS))
        form = {
            **dict(zip(WEIGHTS, PAPER_WEIGHTS[name], strict=True)),
            "feature_normalisation": "none",
            "class_normalisation": "none",
            "space": "semantic",
            "seen_mean_share": 0.0,
            "cosine_share": 0.0,
            "init": "random",
            "max_iter": PAPER_ITERATIONS,
        }
        return cls(**{**form, **changes})

    objective_terms_ = FittedArray(
        "The five terms of the objective after each iteration, in the order of the formula "
        "(:data:`jcmspl.core.solver.TERMS`)."
    )

    @property
    def objective_(self) -> Float64Array:
        """The value of the objective after each iteration."""
        return np.asarray(self.objective_terms_.sum(axis=1))

    @property
    def stationarity_(self) -> dict[str, float]:
        """The relative gradient of each of the three blocks at the end."""
        return dict(zip(STATIONARITY, self._array("stationarity").tolist(), strict=True))

    def _prepare(self, training: TrainingData) -> Prepared:
        prepared = Prepared(training)
        if np.isfinite(self.class_match):
            from_codes = isinstance(self.init, str) and self.init == "codes"
            prepared.require_affordable(self.n_concepts, self.max_iter, from_codes=from_codes)
            prepared.spectrum()  # now, while it is announced, and not when it is needed
        return prepared

    def _fit(self, prepared: Prepared, monitor: Monitor) -> NamedArrays:
        if self.ensemble_factors is None:
            return self._fit_one(prepared, monitor)
        factors = np.asarray(self.ensemble_factors, dtype=np.float64)
        penalties = self.semantic_reconstruction * factors
        fits = [
            clone(self).set_params(semantic_reconstruction=value)._fit_one(prepared, monitor) for value in penalties
        ]
        return _averaged(fits, prepared.class_vectors)

    def _fit_one(self, prepared: Prepared, monitor: Monitor) -> NamedArrays:
        for name in ("visual_reconstruction", "semantic_reconstruction"):
            if np.isinf(getattr(self, name)) and np.isfinite(self.class_match):
                raise ValueError(f"{name} can be infinite only where class_match is: set class_match=inf as well")
        if np.isinf(self.class_match):
            weights = self.semantic_match, self.visual_reconstruction, self.semantic_reconstruction
            A, B, terms = prepared.pinned(self.n_concepts).solve(*weights, wants_objective=monitor.wants_objective)
            exact = {"stationarity": np.zeros(len(STATIONARITY)), "converged": np.array(1.0)}
            return {"visual_projection": A, "semantic_projection": B, "objective_terms": terms[None], **exact}
        solution = self._solution(prepared, monitor)
        return {
            "visual_projection": solution.visual_projection,
            "semantic_projection": solution.semantic_projection,
            "objective_terms": solution.terms,
            "stationarity": np.array([solution.stationarity[name] for name in STATIONARITY]),
            "converged": np.array(float(solution.converged)),
        }

    def _solution(self, prepared: Prepared, monitor: Monitor, *, return_codes: bool = False) -> Solution:
        weights = self.semantic_match, self.class_match, self.visual_reconstruction, self.semantic_reconstruction
        spectrum, start = prepared.start(self.n_concepts, self.init, weights, self.max_iter)
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):  # the solver takes NumPy's new generators: it is asked for a seed
            seed = int(seed.randint(2**31 - 1))
        l1, l2, l3, l4 = weights
        solution = solve(
            spectrum,
            l1=l1,
            l2=l2,
            l3=l3,
            l4=l4,
            n_concepts=self.n_concepts,
            start=start,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=seed,
            return_codes=return_codes,
            on_iteration=monitor.tell_of_iteration,
        )
        basis = {f"{name}_basis": seconds for name, seconds in spectrum.timings.items()}
        monitor.timings |= basis | solution.timings
        return solution

    def _for_other_classes(self) -> JCMSPL:
        twin: JCMSPL = super()._for_other_classes()
        return twin if isinstance(twin.init, str) else twin.set_params(init="codes")  # a given start is for all classes

    def _warm_start(self, prepared: Prepared, class_means: Float64Array) -> dict[str, Any]:
        """Return the mean code of each class, C L N^-1 = P M N^-1 + E, after a fit."""
        if np.isinf(self.class_match):  # there is nothing to start
            return {}
        plain = clone(self).set_params(n_concepts=None)
        solution = plain._solution(prepared, Monitor(), return_codes=True)
        return {"init": np.asarray(solution.codes_of_samples @ class_means.T + solution.codes_of_classes)}

    def _warn_of_result(self) -> None:
        if not self.tol > 0:
            return
        objective, last = self.objective_, ""
        if len(objective) > 1 and objective[-2] > 0:
            lowered = 1 - objective[-1] / objective[-2]
            last = f"; the last one lowered the objective by {lowered:.1g} of it (tol={self.tol:g})"
        warn_user(
            f"the fit stopped after max_iter={self.max_iter} iterations, before it converged{last}. Raise max_iter, or "
            "tol if the predictions are good as they are; large reconstruction weights converge slowly.",
            ConvergenceWarning,
        )


def _preset(name: str, form: str, call: str, result: str) -> Callable[..., JCMSPL]:
    """Return the function that makes a reduced form of the paper, with an example of its call."""
    fixed = JCMSPL.VARIANTS[name]

    def preset(**parameters: Any) -> JCMSPL:
        given = [one for one in fixed if one in parameters]
        if given:
            raise TypeError(f"{given[0]} is 0 in this preset")
        return JCMSPL(**fixed, **parameters)

    preset.__name__ = preset.__qualname__ = name
    preset.__doc__ = f"""Return the paper's {name}, {form} = 0.

    Parameters
    ----------
    **parameters
        Those of :class:`jcmspl.JCMSPL` but for those that are zero.

    Examples
    --------
    >>> from jcmspl.methods import {name}
    >>> {call}
    {result}
    """
    return preset


IPL = _preset("IPL", "a common concept space and nothing else: λ2 = λ3 = λ4", 'IPL(space="concept").class_match', "0.0")
JCMSPL0 = _preset("JCMSPL0", "without reconstruction: λ3 = λ4", "JCMSPL0().visual_reconstruction", "0.0")
JCMSPL1 = _preset("JCMSPL1", "without class codes: λ2", "JCMSPL1().class_match", "0.0")


def _averaged(fits: list[NamedArrays], class_vectors: Float64Array) -> NamedArrays:
    """Return a fit whose prediction A'By is the mean of those of several, each of the same length over all classes.

    Their concept spaces are set side by side.
    """
    parts = []
    for one in fits:
        A, B = one["visual_projection"], one["semantic_projection"]
        predicted = (class_vectors @ B.T) @ A
        length = float(np.sqrt(np.mean(np.sum(predicted**2, axis=1)))) or 1.0
        parts.append(B / (length * len(fits)))
    n_iterations = min(len(one["objective_terms"]) for one in fits)
    return {
        "visual_projection": np.concatenate([one["visual_projection"] for one in fits]),
        "semantic_projection": np.concatenate(parts),
        "objective_terms": np.mean([one["objective_terms"][-n_iterations:] for one in fits], axis=0),
        "stationarity": np.max([one["stationarity"] for one in fits], axis=0),
        "converged": np.min([one["converged"] for one in fits], axis=0),
    }
