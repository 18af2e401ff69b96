"""A variational autoencoder of samples, conditional on class vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jcmspl.core.adam import Adam
from jcmspl.model.parameters import COUNT, POSITIVE_WEIGHT, SHARE, NamedArrays, estimator, field
from jcmspl.networks.generated import Generated, Generator
from jcmspl.networks.network_method import NetworkData, NetworkMethod, Streams
from jcmspl.networks.perceptron import Array, Latent, Perceptron, squared_loss


@estimator
class CVA(Generated, NetworkMethod):
    r"""Conditional variational autoencoder, after Mishra, Reddy, Mittal, Murthy (2018).

    ``min over encoder and decoder of the mean over samples of reconstruction_weight |x - D(z, a)|^2 / 2 + KL(q(z|x, a),
    N(0, I))`` with z drawn from ``q(z|x, a) = N(mean, diag(variance))`` of the encoder, a the vector of the class. The
    decoder then generates samples from noise.

    Layers, dropout and Adam are the authors'. Theirs are reconstruction_weight=2 / m for m features, one draw of noise
    for a whole batch, raw samples and a support vector machine on generated samples; ours are one draw for each sample,
    whitened samples and the cosine with generated means. On whitened samples the best z is unused unless
    reconstruction_weight is about 10, and the method is then a regression on class vectors, as the authors' is.

    Parameters
    ----------
    reconstruction_weight : float
        1 is the likelihood with unit variance.
    noise_size : int
        The length of z.
    dropout : float
        The share of units of the encoder's first layer that are left out in a step.
    batch_size : int
        The number of samples in a step.
    """

    reconstruction_weight: float = field(default=1.0, metadata=POSITIVE_WEIGHT)
    noise_size: int = field(default=50, metadata=COUNT)
    dropout: float = field(default=0.7, metadata=SHARE)
    batch_size: int = field(default=50, metadata=COUNT)

    EXAMPLE = "hidden=64, max_iter=10"
    PAPER = "Mishra, Reddy, Mittal, Murthy (2018): A Generative Model For Zero Shot Learning Using Conditional VAE"
    COST = 400.0
    GRID = {"reconstruction_weight": (1.0, 10.0)}
    ACTIVATION = "relu"

    def _trainer(self, data: NetworkData, streams: Streams) -> CVATrainer:
        sizes = (data.n_features + data.n_attributes, *(max(self.hidden // 2, 1),) * 2, 2 * self.noise_size)
        dropout = (min(self.dropout, 0.95), 0.0, 0.0)
        encoder = Perceptron.drawn(sizes, ("relu", "relu", "linear"), "glorot", streams.weights, dropout)
        generator = Generator.drawn(self, data, streams, self.noise_size, "glorot")
        return CVATrainer(encoder, generator, data, self, streams)


class CVATrainer:
    """Encoder and decoder in training."""

    def __init__(
        self, encoder: Perceptron, generator: Generator, data: NetworkData, model: CVA, streams: Streams
    ) -> None:
        self._encoder, self.generator, self._data, self._streams = encoder, generator, data, streams
        self._weight, self._size = model.reconstruction_weight, model.batch_size
        self._adam = Adam([*encoder.parameters, *generator.network.parameters], model.learning_rate)

    def epoch(self) -> float:
        """Learn from as many samples as there are, and return the mean loss."""
        losses = []
        for rows in self._data.batches(self._size, self._streams.batches):
            real, vectors = self._data.samples[rows], self._data.class_vectors[self._data.numbers[rows]]
            noise = self.generator.noise(len(rows))
            loss, gradients = autoencoder_loss(
                self._encoder, self.generator.network, real, vectors, noise, self._weight, self._streams.noise
            )
            self._adam.step(gradients)
            losses.append(loss)
        return float(np.mean(losses))

    def arrays(self) -> NamedArrays:
        """Return the arrays that prediction needs."""
        return self.generator.arrays()


def autoencoder_loss(
    encoder: Perceptron,
    decoder: Perceptron,
    real: Array,
    vectors: Array,
    noise: Array,
    weight: float,
    dropout: np.random.RandomState | None = None,
    more: Callable[[Array], tuple[float, Array]] = lambda found: (0.0, np.zeros_like(found)),
) -> tuple[float, list[Array]]:
    """Return the mean loss of samples, and its gradients by the parameters of the encoder and of the decoder.

    ``more`` is a further loss of reconstructed samples, with its gradient.
    """
    codes, trace = encoder.forward(np.hstack([real, vectors]), dropout)
    latent = Latent(codes, noise)
    found, decoder_trace = decoder.forward(np.hstack([vectors, latent.drawn]))
    reconstruction, by_found = squared_loss(found, real)
    further, by_more = more(found)
    of_decoder, by_inputs = decoder.backward(weight * by_found + by_more, decoder_trace, to_input=True)
    divergence, by_codes = latent.divergence()
    by_codes += latent.gradient_of_draws(by_inputs[:, vectors.shape[1] :])
    of_encoder, _ = encoder.backward(by_codes, trace)
    return weight * reconstruction + divergence + further, [*of_encoder, *of_decoder]
