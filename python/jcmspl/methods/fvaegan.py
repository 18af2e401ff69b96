"""A conditional autoencoder whose decoder is the generator of an adversarial network."""

from __future__ import annotations

from functools import partial

import numpy as np

from jcmspl.core.adam import Adam
from jcmspl.methods.clswgan import warn_of_gradient
from jcmspl.methods.cva import autoencoder_loss
from jcmspl.model.parameters import COUNT, NOT_NEGATIVE, OPTIONAL_COUNT, POSITIVE_WEIGHT, NamedArrays, estimator, field
from jcmspl.networks.critic import Critic
from jcmspl.networks.generated import Generated, Generator
from jcmspl.networks.network_method import NetworkData, NetworkMethod, Streams
from jcmspl.networks.perceptron import Array, Latent, Perceptron


@estimator
class FVAEGAN(Generated, NetworkMethod):
    r"""f-VAEGAN-D2, its inductive part, after Xian, Sharma, Schiele, Akata (2019): :class:`CVA` and a critic.

    The decoder of the autoencoder is the generator of a Wasserstein network: its loss is that of :class:`CVA`, with
    reconstruction_weight=1, less critic_weight times the mean value of the critic for reconstructed samples. The critic
    learns as that of :class:`CLSWGAN`, from reconstructed samples.

    Losses and layers are those of a reimplementation (Narayan et al., 2020); the authors' code is not public. Left out
    are the second discriminator, which needs samples of unseen classes, and an adaptive penalty. Theirs are min-max
    features with a last sigmoid; ours are whitened samples and the cosine with generated means.

    Parameters
    ----------
    critic_weight : float
        Weight of the critic in the loss of the generator, the paper's γ.
    penalty : float
        Weight of the gradient penalty.
    n_critic : int
        The number of steps of the critic for each of the generator.
    noise_size : int, optional
        The length of the latent vector; by default the number of attributes.
    batch_size : int
        The number of samples in a step.

    Attributes
    ----------
    gradient_norm_ : float
        The mean length of the critic's gradient in the last epoch: far from 1 the critic was not yet trained well.
    """

    critic_weight: float = field(default=10.0, metadata=POSITIVE_WEIGHT)
    penalty: float = field(default=10.0, metadata=NOT_NEGATIVE)
    n_critic: int = field(default=5, metadata=COUNT)
    noise_size: int | None = field(default=None, metadata=OPTIONAL_COUNT)
    batch_size: int = field(default=64, metadata=COUNT)
    learning_rate: float = 1e-4
    max_iter: int = 10

    EXAMPLE = "hidden=64, max_iter=10, learning_rate=0.003"
    PAPER = "Xian, Sharma, Schiele, Akata (2019): f-VAEGAN-D2: A Feature Generating Framework for Any-Shot Learning"
    COST = 4000.0
    ARRAYS = {**Generated.ARRAYS, "gradient_norm": ()}

    @property
    def gradient_norm_(self) -> float:
        """The mean length of the critic's gradient in the last epoch."""
        return float(self._array("gradient_norm"))

    def _trainer(self, data: NetworkData, streams: Streams) -> FVAEGANTrainer:
        return FVAEGANTrainer(self, data, streams)

    def _warn_of_result(self) -> None:
        warn_of_gradient(self.gradient_norm_)


class FVAEGANTrainer:
    """Encoder, generator and critic in training."""

    def __init__(self, model: FVAEGAN, data: NetworkData, streams: Streams) -> None:
        self._model, self._data, self._streams, self._norm = model, data, streams, 0.0
        d, noise_size = data.n_attributes, model.noise_size or data.n_attributes
        sizes = (data.n_features + d, model.hidden, 2 * noise_size, 2 * noise_size)
        self._encoder = Perceptron.drawn(sizes, ("leaky", "leaky", "linear"), "glorot", streams.weights)
        self.generator = Generator.drawn(model, data, streams, noise_size, "glorot")
        self._critic = Critic.drawn(data.n_features, d, model.hidden, streams.weights)
        parameters = [*self._encoder.parameters, *self.generator.network.parameters]
        self._of_autoencoder = Adam(parameters, model.learning_rate, beta1=0.5)
        self._of_critic = Adam(self._critic.parameters, model.learning_rate, beta1=0.5)

    def epoch(self) -> float:
        """Take rounds of steps, and return the mean loss of the autoencoder."""
        n_rounds = -(-len(self._data.samples) // self._model.batch_size)
        found = [self._round() for _ in range(n_rounds)]
        self._norm = float(np.mean([norm for _, norm in found]))
        return float(np.mean([loss for loss, _ in found]))

    def _round(self) -> tuple[float, float]:
        """Return the loss of the autoencoder and the mean length of the critic's gradient."""
        norms = []
        for _ in range(self._model.n_critic):
            real, vectors = self._batch()
            codes = self._encoder(np.hstack([real, vectors]))
            drawn = Latent(codes, self.generator.noise(len(real))).drawn
            generated = self.generator.network(self.generator.inputs(vectors, drawn))
            mix = self._streams.noise.random_sample((len(real), 1)).astype(np.float32)
            loss = self._critic.loss(real, generated, vectors, mix, self._model.penalty)
            self._of_critic.step(loss.gradients)
            norms.append(loss.norm)
        real, vectors = self._batch()
        weighed = partial(self._weighed_critic, vectors)
        noise = self.generator.noise(len(real))
        value, gradients = autoencoder_loss(
            self._encoder, self.generator.network, real, vectors, noise, 1.0, None, weighed
        )
        self._of_autoencoder.step(gradients)
        return value, float(np.mean(norms))

    def _batch(self) -> tuple[Array, Array]:
        rows = self._data.batch(self._model.batch_size, self._streams.batches)
        return self._data.samples[rows], self._data.class_vectors[self._data.numbers[rows]]

    def _weighed_critic(self, vectors: Array, found: Array) -> tuple[float, Array]:
        value, gradient = self._critic.by_samples(found, vectors)
        return self._model.critic_weight * value, self._model.critic_weight * gradient

    def arrays(self) -> NamedArrays:
        """Return the arrays that prediction needs."""
        return self.generator.arrays() | {"gradient_norm": np.array(self._norm, dtype=np.float32)}
