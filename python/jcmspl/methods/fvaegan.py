"""A conditional autoencoder whose decoder is the generator of an adversarial network."""

from __future__ import annotations

from functools import partial

import numpy as np

from jcmspl.core.adam import Adam
from jcmspl.methods.cva import autoencoder_loss
from jcmspl.model.parameters import POSITIVE_WEIGHT, estimator, field
from jcmspl.networks.adversarial import Adversarial, AdversarialTrainer
from jcmspl.networks.network_method import NetworkData, NetworkMethod, Streams
from jcmspl.networks.perceptron import Array, Latent, Perceptron


@estimator
class FVAEGAN(Adversarial, NetworkMethod):
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
    noise_size
        The length of the latent vector; by default the number of attributes.
    """

    critic_weight: float = field(default=10.0, metadata=POSITIVE_WEIGHT)

    EXAMPLE = "hidden=64, max_iter=10, learning_rate=0.003"
    PAPER = "Xian, Sharma, Schiele, Akata (2019): f-VAEGAN-D2: A Feature Generating Framework for Any-Shot Learning"
    COST = 4000.0

    def _trainer(self, data: NetworkData, streams: Streams) -> FVAEGANTrainer:
        return FVAEGANTrainer(self, data, streams)


class FVAEGANTrainer(AdversarialTrainer):
    """Encoder, generator and critic in training."""

    def __init__(self, model: FVAEGAN, data: NetworkData, streams: Streams) -> None:
        noise_size = model.noise_size or data.n_attributes
        sizes = (data.n_features + data.n_attributes, model.hidden, 2 * noise_size, 2 * noise_size)
        self._encoder = Perceptron.drawn(sizes, ("leaky", "leaky", "linear"), "glorot", streams.weights)
        super().__init__(model, data, streams, "glorot")
        self._weight = model.critic_weight
        parameters = [*self._encoder.parameters, *self.generator.network.parameters]
        self._of_autoencoder = Adam(parameters, model.learning_rate, beta1=0.5)
        self._of_critic = Adam(self.critic.parameters, model.learning_rate, beta1=0.5)

    def _round(self) -> tuple[float, float]:
        """Return the loss of the autoencoder and the mean length of the critic's gradient."""
        norms = []
        for _ in range(self._n_critic):
            real, vectors = self._batch()
            codes = self._encoder(np.hstack([real, vectors]))
            drawn = Latent(codes, self.generator.noise(len(real))).drawn
            generated = self.generator.network(self.generator.inputs(vectors, drawn))
            mix = self._streams.noise.random_sample((len(real), 1)).astype(np.float32)
            loss = self.critic.loss(real, generated, vectors, mix, self._penalty)
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
        rows = self._data.batch(self._size, self._streams.batches)
        return self._data.samples[rows], self._data.class_vectors[self._data.numbers[rows]]

    def _weighed_critic(self, vectors: Array, found: Array) -> tuple[float, Array]:
        value, gradient = self.critic.by_samples(found, vectors)
        return self._weight * value, self._weight * gradient
