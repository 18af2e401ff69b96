"""Adam, the descent of networks: each step is one pass over the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from jcmspl import _core


class Adam:
    """Changes parameters, in place, along running means of their gradients, in units of their root mean square.

    In step t, ``g += decay p``, ``q = beta1 q + (1 - beta1) g``, ``v = beta2 v + (1 - beta2) g^2`` and
    ``p -= learning_rate r q / ((1 - beta1^t) (sqrt(v) + epsilon r))`` with ``r = sqrt(1 - beta2^t)``, entry by entry.

    Parameters
    ----------
    parameters : sequence of ndarray
        C-contiguous, of float32 or float64.
    learning_rate : float
        May be changed between steps.
    beta1, beta2, epsilon, decay : float
    amsgrad : bool
        Whether v in the last equation is the largest one so far.
    """

    def __init__(
        self,
        parameters: Sequence[npt.NDArray[Any]],
        learning_rate: float = 1e-3,
        *,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        decay: float = 0.0,
        amsgrad: bool = False,
    ) -> None:
        if not all(p.flags.c_contiguous and p.dtype in (np.float32, np.float64) for p in parameters):
            raise ValueError("parameters must be C-contiguous arrays of float32 or float64")
        self.learning_rate, self.decay = learning_rate, decay
        self._parameters, self._betas, self._epsilon, self._n_steps = list(parameters), (beta1, beta2), epsilon, 0
        self._means = [np.zeros_like(p) for p in parameters]
        self._squares = [np.zeros_like(p) for p in parameters]
        self._largest = [np.zeros_like(p) if amsgrad else None for p in parameters]

    def step(self, gradients: Sequence[npt.NDArray[Any]]) -> None:
        """Take a step, given the gradient by each of the parameters."""
        if [g.shape for g in gradients] != [p.shape for p in self._parameters]:
            raise ValueError("gradients must have the shapes of the parameters")
        self._n_steps += 1
        (beta1, beta2), t = self._betas, self._n_steps
        root = float(np.sqrt(1 - beta2**t))
        arrays = zip(gradients, self._parameters, self._means, self._squares, self._largest, strict=True)
        for gradient, parameter, mean, square, largest in arrays:
            _core.adam_step(
                np.ascontiguousarray(gradient, dtype=parameter.dtype),
                parameter,
                mean,
                square,
                largest,
                step=self.learning_rate * root / (1 - beta1**t),
                epsilon=self._epsilon * root,
                beta1=beta1,
                beta2=beta2,
                decay=self.decay,
            )
