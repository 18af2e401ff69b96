"""The estimator: zero-shot recognition in three lines."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from jcmspl.core.solver import Solution, Spectrum, solve
from jcmspl.core.statistics import Statistics
from jcmspl.models.model import OnIteration, ZeroShotModel
from jcmspl.support.arguments import Float64Array, as_count, as_matrix, as_weight
from jcmspl.support.progress import Progress

#: The parameters of the estimator that are the paper's λ1 to λ4.
WEIGHTS = ("semantic_match", "class_match", "visual_reconstruction", "semantic_reconstruction")
_STARTS = ("codes", "random")
# From this number of features on the eigendecomposition, which cannot tell how far it is, takes a second or more.
_LONG_DECOMPOSITION = 1500


class JCMSPL(ZeroShotModel):
    r"""Joint Concept Matching-Space Projection Learning: recognise classes from descriptions of them.

    Samples x and class vectors y are projected into a common concept space, Ax and By, so that both match codes C,
    which tell the training classes apart, and can be reconstructed from them:

    .. math:: \min_{A,B,C} \tfrac12|AX-C|^2 + \tfrac{λ_1}2|BY-C|^2 + \tfrac{λ_2}2|C-H|^2
              + \tfrac{λ_3}2|X-A'C|^2 + \tfrac{λ_4}2|Y-B'C|^2

    (Tang, Panahi, Krim: Joint Concept Matching based Learning for Zero-Shot Recognition). A class that was never seen
    in training is then recognised by its vector.

    Parameters
    ----------
    semantic_match : float, default 0.01
        λ1, the weight of matching the projected class vectors to the codes.
    class_match : float, default 1.0
        λ2, the weight of matching the codes to those of the classes, H. Not to be confused with class weights.
    visual_reconstruction : float, default 0.1
        λ3, the weight of reconstructing the samples from the codes.
    semantic_reconstruction : float, default 0.01
        λ4, the weight of reconstructing the class vectors from the codes.
    n_concepts : int, optional
        k, the dimension of the concept space: at least, and by default, the number of training classes.
    init : {"codes", "random"} or array_like of shape (n_concepts, n_classes), default "codes"
        The first C: the codes H, normal random numbers for each class (as in the paper), or codes given for each class
        in the order of classes_. All of them usually end in the same optimum; "codes" in fewer iterations.
    max_iter : int, default 100
    tol : float, default 1e-6
        Stop when an iteration lowers the objective by less than this part of it.
    space : {"semantic", "visual", "concept"}, default "semantic"
        Where samples and classes are compared: B'Ax with y (the paper's V->S), x with A'By (S->V), or Ax with By.
    metric : {"cosine", "euclidean", "dot"} or callable, default "cosine"
        How they are compared. A function ``D(Z, P)`` returns the distances, (len(Z), len(P)), of samples Z and
        candidates P in that space; it is called with blocks of samples and is slower.
    feature_normalisation, class_normalisation : str, default "sample_l2+center"
        What is done to samples and to class vectors first; one of
        :data:`jcmspl.data.normalisation.NORMALISATIONS`. Fitted
        on training data alone.
    seen_bias : float, default 0
        What is taken off the scores of training classes where other classes are candidates too (generalized
        recognition by calibrated stacking). :meth:`calibrate` finds a good value.
    temperature : float or "auto", default "auto"
        Of the softmax of :meth:`predict_proba`.
    random_state : int, Generator, RandomState or None
        Seed of ``init="random"``.
    progress : bool, default True
        Whether to show the progress of fits of more than a second, on stderr if that is a terminal.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels of the training classes, sorted.
    unseen_classes_ : ndarray
        The labels of the classes that are known by their vectors alone.
    class_table_ : ClassTable
        Both, with their vectors.
    visual_projection_ : ndarray of shape (n_concepts, n_features)
        The paper's A, for normalised samples.
    semantic_projection_ : ndarray of shape (n_concepts, n_attributes)
        The paper's B, for normalised class vectors.
    objective_ : ndarray of shape (n_iter\_,)
        The value f of the objective after each iteration, and
    objective_terms_ : ndarray of shape (n_iter\_, 5)
        its five terms, in the order of the formula (:data:`jcmspl.core.solver.TERMS`).
    n_iter_ : int
    converged_ : bool
    stationarity_ : dict
        The relative gradient of each of the three blocks at the end.
    timings_ : dict
        Seconds per stage.
    feature_normalisation_, class_normalisation_ : Normalisation
    class_means_ : ndarray of shape (n_classes, n_features)
        The mean sample of each training class (of samples scaled to length one, if they are).
    statistics_ : Statistics
        What further samples are added to by :meth:`partial_fit`.
    calibration_ : dict
        The biases that :meth:`calibrate` chose, by space and metric.
    seen_bias_ : float
        The one that holds: as calibrated for the space and metric, or else seen_bias.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in\_,), if X had names

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
    >>> model.predict(images("tiger", 2))
    array(['tiger', 'tiger'], dtype='<U5')
    """

    _PENALTIES = WEIGHTS
    _HEAVY_IS_SIMPLE = False
    _GRID: ClassVar[dict[str, tuple[Any, ...]]] = {
        "semantic_match": (1e-2, 1.0, 1e2),
        "class_match": (1e-2, 1.0, 1e2),
        "visual_reconstruction": (1e-1, 1e1, 1e3),
        "semantic_reconstruction": (1e-2, 1.0, 1e2),
        "space": ("semantic", "concept", "visual"),
    }

    def __init__(
        self,
        *,
        semantic_match: float = 0.01,
        class_match: float = 1.0,
        visual_reconstruction: float = 0.1,
        semantic_reconstruction: float = 0.01,
        n_concepts: int | None = None,
        init: Any = "codes",
        max_iter: int = 100,
        tol: float = 1e-6,
        space: str = "semantic",
        metric: Any = "cosine",
        feature_normalisation: str = "sample_l2+center",
        class_normalisation: str = "sample_l2+center",
        seen_bias: float = 0.0,
        temperature: Any = "auto",
        random_state: Any = None,
        progress: bool = True,
    ) -> None:
        self.semantic_match = semantic_match
        self.class_match = class_match
        self.visual_reconstruction = visual_reconstruction
        self.semantic_reconstruction = semantic_reconstruction
        self.n_concepts = n_concepts
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.space = space
        self.metric = metric
        self.feature_normalisation = feature_normalisation
        self.class_normalisation = class_normalisation
        self.seen_bias = seen_bias
        self.temperature = temperature
        self.random_state = random_state
        self.progress = progress

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_weight(self.tol, "tol")
        as_count(self.max_iter, "max_iter")
        if self.n_concepts is not None:
            as_count(self.n_concepts, "n_concepts")
        if isinstance(self.init, str):
            if self.init not in _STARTS:
                raise ValueError(f"init must be 'codes', 'random' or an array, but is {self.init!r}")
        else:
            as_matrix(self.init, "init")

    def _shared(self, statistics: Statistics, class_vectors: Float64Array) -> Spectrum:
        return Spectrum(statistics, class_vectors)

    def _learnt(self, shared: Spectrum, on_iteration: OnIteration | None = None) -> dict[str, Any]:
        return _attributes(self._solution(shared, on_iteration))

    def _solution(
        self, spectrum: Spectrum, on_iteration: OnIteration | None, *, return_codes: bool = False
    ) -> Solution:
        k = self.n_concepts or spectrum.n_classes
        if not isinstance(self.init, str) and np.shape(self.init) != (k, spectrum.n_classes):
            expected = (k, spectrum.n_classes)
            raise ValueError(
                f"init must have shape (n_concepts, n_classes) = {expected}, but has {np.shape(self.init)}"
            )
        return solve(
            spectrum,
            l1=self.semantic_match,
            l2=self.class_match,
            l3=self.visual_reconstruction,
            l4=self.semantic_reconstruction,
            n_concepts=self.n_concepts,
            start=self.init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=_generator(self.random_state),
            return_codes=return_codes,
            on_iteration=on_iteration,
        )

    def _learn(self, statistics: Statistics, class_vectors: Float64Array) -> dict[str, float]:
        with Progress("decomposing", statistics.n_features, "features", enabled=bool(self.progress)) as progress:
            if statistics.n_features >= _LONG_DECOMPOSITION:
                progress.announce()
            spectrum = self._shared(statistics, class_vectors)
        with Progress("fitting", self.max_iter, "iterations", enabled=bool(self.progress)) as progress:
            solution = self._solution(spectrum, lambda done, value: progress.update(done, f"objective {value:.6g}"))
        self.__dict__.update(_attributes(solution))
        if not solution.converged and self.tol > 0:
            _warn_of_early_stop(solution.objective, self.max_iter, self.tol)
        basis = {f"{name}_basis": seconds for name, seconds in spectrum.timings.items()}
        return basis | solution.timings


def _attributes(solution: Solution) -> dict[str, Any]:
    return {
        "visual_projection_": solution.visual_projection,
        "semantic_projection_": solution.semantic_projection,
        "objective_": solution.objective,
        "objective_terms_": solution.terms,
        "n_iter_": solution.n_iter,
        "converged_": solution.converged,
        "stationarity_": solution.stationarity,
    }


def _generator(random_state: Any) -> Any:
    """Return what the solver takes as a seed; scikit-learn's own generators are asked for one."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return random_state


def _warn_of_early_stop(objective: Float64Array, max_iter: int, tol: float) -> None:
    last = ""
    if len(objective) > 1 and objective[-2] > 0:
        last = f"; the last one lowered the objective by {1 - objective[-1] / objective[-2]:.1g} of it (tol={tol:g})"
    warnings.warn(
        f"the fit stopped after max_iter={max_iter} iterations, before it converged{last}. "
        "Raise max_iter, or tol if the predictions are good as they are; large reconstruction weights converge slowly.",
        ConvergenceWarning,
        stacklevel=5,
    )
