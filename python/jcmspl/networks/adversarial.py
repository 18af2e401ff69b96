"""Methods whose generator of samples a critic helps to train."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from jcmspl.model.parameters import COUNT, NOT_NEGATIVE, OPTIONAL_COUNT, NamedArrays, Shape
from jcmspl.networks.critic import Critic
from jcmspl.networks.generated import Generated, Generator
from jcmspl.networks.network_method import NetworkData, Streams
from jcmspl.support.warn import warn_user

# The critic's gradient should be about 1 long.
_GOOD_NORMS = (0.5, 2.0)


@dataclass(kw_only=True, eq=False, repr=False)
class Adversarial(Generated):
    """A method that trains a generator and a critic by turns.

    Parameters
    ----------
    penalty : float
        Weight of the gradient penalty.
    n_critic : int
        The number of steps of the critic for each of the generator.
    noise_size : int, optional
        The length of the noise; by default the number of attributes.
    batch_size : int
        The number of samples in a step.

    Attributes
    ----------
    gradient_norm_ : float
        The mean length of the critic's gradient in the last epoch: far from 1 the critic was not yet trained well.
    """

    penalty: float = field(default=10.0, metadata=NOT_NEGATIVE)
    n_critic: int = field(default=5, metadata=COUNT)
    noise_size: int | None = field(default=None, metadata=OPTIONAL_COUNT)
    batch_size: int = field(default=64, metadata=COUNT)
    learning_rate: float = 1e-4
    max_iter: int = 10

    ARRAYS: ClassVar[dict[str, Shape]] = {**Generated.ARRAYS, "gradient_norm": ()}

    @property
    def gradient_norm_(self) -> float:
        """The mean length of the critic's gradient in the last epoch."""
        return float(self._array("gradient_norm"))

    def _warn_of_result(self) -> None:
        norm, (least, most) = self.gradient_norm_, _GOOD_NORMS
        if not least <= norm <= most:
            warn_user(
                f"the critic's gradient is {norm:.2g} long at the end and should be about 1, so that generated samples "
                "are not yet like real ones: raise max_iter, or lower learning_rate if losses_ jump",
                ConvergenceWarning,
            )


class AdversarialTrainer:
    """Generator and critic in training; a class that derives from it has the rounds."""

    def __init__(self, model: Adversarial, data: NetworkData, streams: Streams, start: str | float) -> None:
        self._data, self._streams, self._norm = data, streams, 0.0
        self._size, self._n_critic, self._penalty = model.batch_size, model.n_critic, model.penalty
        noise_size = model.noise_size or data.n_attributes
        self.generator = Generator.drawn(model, data, streams, noise_size, start)
        self.critic = Critic.drawn(data.n_features, data.n_attributes, model.hidden, streams.weights)

    def _round(self) -> tuple[float, float]:
        """Take the steps of the critic and one of the generator; return the loss and the length of the gradient."""
        raise NotImplementedError

    def epoch(self) -> float:
        """Take rounds of steps, and return the mean loss."""
        n_rounds = -(-len(self._data.samples) // self._size)
        loss, self._norm = (float(mean) for mean in np.mean([self._round() for _ in range(n_rounds)], axis=0))
        return loss

    def arrays(self) -> NamedArrays:
        """Return the arrays that prediction needs."""
        return self.generator.arrays() | {"gradient_norm": np.array(self._norm, dtype=np.float32)}
