"""A variational autoencoder of samples whose prior depends on the class."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from jcmspl.core.adam import Adam
from jcmspl.model.parameters import COUNT, NOT_NEGATIVE, SHARE, NamedArrays, estimator, field
from jcmspl.model.recogniser import FunctionScorer
from jcmspl.networks.network_method import (
    NetworkData,
    NetworkMethod,
    Streams,
    layer_arrays,
    layer_shapes,
    perceptron_of,
)
from jcmspl.networks.perceptron import Array, Latent, Perceptron, softmax_loss, squared_loss
from jcmspl.support.arguments import Float64Array, FloatArray, IntArray

_ACTIVATIONS = ("relu", "relu", "linear")
# The deviation of the first A. A larger one leaves a random part in priors of classes that were not trained on.
_START = 0.01


@estimator
class VZSL(NetworkMethod):
    r"""Variational zero-shot learning, after Wang et al. (2018): the class whose latent prior is nearest to a sample.

    The prior of a class with the vector a is ``p(z|a) = N(A a, diag(exp(2 B a)))``, the encoder is ``q(z|x) =
    N(mean(x), diag(variance(x)))``. The loss of a sample of class y is ``reconstruction_weight |x - x^(z)|^2 / 2 +
    weight (KL(q || p(.|a_y)) + margin log sum over training classes j of exp(-KL(q || p(.|a_j))))``, where weight rises
    to 1 in the first half of the epochs. A sample is of the class with the least KL(q || p).

    Objective and prediction are the paper's. Layers are those of an independent implementation, because the authors' is
    not public. Ours are the common warm-up of both terms, without which the loss has no minimum, whitened samples, a
    margin below 1 and the penalties. The transductive form is left out.

    Parameters
    ----------
    reconstruction_weight : float
        1 is the likelihood with unit variance.
    margin : float
        From 0 to 1. The paper's λ. With 1 the last two terms are a cross-entropy, which leaves the variances of q free
        to vanish.
    noise_size : int
        The length of z.
    dropout : float
        The share of units of first layers that are left out in a step.
    batch_size : int
        The number of samples in a step.
    decay : float
        Penalty of all weights and biases but B.
    variance_decay : float
        Penalty of B: a large one gives all classes the same variances.
    """

    reconstruction_weight: float = field(default=1.0, metadata=NOT_NEGATIVE)
    margin: float = field(default=0.9, metadata=SHARE)
    noise_size: int = field(default=100, metadata=COUNT)
    dropout: float = field(default=0.2, metadata=SHARE)
    batch_size: int = field(default=100, metadata=COUNT)
    decay: float = field(default=0.03, metadata=NOT_NEGATIVE)
    variance_decay: float = field(default=1.0, metadata=NOT_NEGATIVE)
    hidden: int = 1000
    max_iter: int = 10

    EXAMPLE = "hidden=64, max_iter=10"
    PAPER = "Wang et al. (2018): Zero-Shot Learning via Class-Conditioned Deep Generative Models"
    COST = 300.0
    ARRAYS = {
        **layer_shapes("encoder", "m", "h1", "h2", "k2"),
        "prior_means": ("k", "d"),
        "prior_logs": ("k", "d"),
        **NetworkMethod.COMMON,
    }

    def _trainer(self, data: NetworkData, streams: Streams) -> VZSLTrainer:
        return VZSLTrainer(self, data, streams)

    def _scorer(self, class_vectors: Float64Array, space: str) -> FunctionScorer:
        rows, which = np.unique(class_vectors, axis=0, return_inverse=True)  # equal classes must tie
        inputs = rows * float(self.arrays_["class_unit"])
        priors = Priors.of(
            inputs, self.arrays_["prior_means"].astype(np.float64), self.arrays_["prior_logs"].astype(np.float64)
        )
        encoder = perceptron_of(self.arrays_, "encoder", _ACTIVATIONS)
        return FunctionScorer(partial(_scores, encoder, priors, which.reshape(-1), float(self.arrays_["feature_unit"])))


def _scores(encoder: Perceptron, priors: Priors, which: IntArray, unit: float, Z: FloatArray) -> Float64Array:
    codes = encoder(Z.astype(np.float64) * unit)
    return -priors.divergences(Latent(codes, codes[:, :0]))[:, which]


class Priors(NamedTuple):
    """Normal distributions of classes: means, logarithms of variances and their inverse variances, (c, k)."""

    means: Array
    logs: Array
    precisions: Array

    @classmethod
    def of(cls, vectors: Array, of_means: Array, of_logs: Array) -> Priors:
        """Return the priors of classes with the given vectors."""
        logs = np.clip(2 * vectors @ of_logs.T, -Latent.LIMIT, Latent.LIMIT)
        return cls(vectors @ of_means.T, logs, np.exp(-logs))

    def divergences(self, latent: Latent) -> Array:
        """Return KL(q || p) of each row of the latent distributions from each prior."""
        weighed = self.precisions * self.means
        found = (np.exp(latent.logs) + latent.means**2) @ self.precisions.T
        found -= 2 * latent.means @ weighed.T
        found += np.sum(weighed * self.means + self.logs - 1, axis=1)
        found -= np.sum(latent.logs, axis=1, keepdims=True)
        return np.asarray(found / 2)

    def gradients(self, latent: Latent, by_divergences: Array) -> tuple[Array, Array, Array]:
        """Return the gradients by the codes, by the means and by the logarithms, given that by the divergences."""
        Q, totals = by_divergences, by_divergences.sum(axis=0)[:, None]
        variances, precisions, means = np.exp(latent.logs), self.precisions, self.means
        by_precision = Q @ precisions
        by_codes = latent.gradient(
            latent.means * by_precision - Q @ (precisions * means),
            (variances * by_precision - Q.sum(axis=1, keepdims=True)) / 2,
        )
        crossed = Q.T @ latent.means
        squares = Q.T @ (variances + latent.means**2) - 2 * means * crossed + means**2 * totals
        inside = np.abs(self.logs) < Latent.LIMIT
        return by_codes, precisions * (totals * means - crossed), inside * (totals - precisions * squares) / 2


class VZSLTrainer:
    """Encoder, decoder and priors in training."""

    def __init__(self, model: VZSL, data: NetworkData, streams: Streams) -> None:
        self._model, self._data, self._streams, self._done = model, data, streams, 0
        h, k = model.hidden, model.noise_size
        dropout = (min(model.dropout, 0.95), 0.0, 0.0)
        self.encoder = Perceptron.drawn(
            (data.n_features, h, h, 2 * k), _ACTIVATIONS, "glorot", streams.weights, dropout
        )
        self.decoder = Perceptron.drawn((k, h, h, data.n_features), _ACTIVATIONS, "glorot", streams.weights, dropout)
        of_means = _START * streams.weights.standard_normal((k, data.n_attributes))
        self.maps = [of_means.astype(np.float32), np.zeros(of_means.shape, dtype=np.float32)]
        parameters = [*self.encoder.parameters, *self.decoder.parameters, self.maps[0]]
        self._adam = Adam(parameters, model.learning_rate, decay=model.decay)
        self._of_variances = Adam(self.maps[1:], model.learning_rate, decay=model.variance_decay)

    def epoch(self) -> float:
        """Learn from as many samples as there are, and return the mean loss."""
        self._done += 1
        weight = min(1.0, 2 * self._done / self._model.max_iter)
        data, model, losses = self._data, self._model, []
        for rows in data.batches(model.batch_size, self._streams.batches):
            noise = self._streams.noise.standard_normal((len(rows), model.noise_size)).astype(np.float32)
            loss, gradients = variational_loss(
                (self.encoder, self.decoder, self.maps[0], self.maps[1]),
                data.samples[rows],
                data.class_vectors,
                data.numbers[rows],
                noise,
                (model.reconstruction_weight, weight, model.margin),
                self._streams.noise,
            )
            self._adam.step(gradients[:-1])
            self._of_variances.step(gradients[-1:])
            losses.append(loss)
        return float(np.mean(losses))

    def arrays(self) -> NamedArrays:
        """Return the arrays that prediction needs."""
        return layer_arrays("encoder", self.encoder) | dict(zip(("prior_means", "prior_logs"), self.maps, strict=True))


def variational_loss(
    networks: tuple[Perceptron, Perceptron, Array, Array],
    samples: Array,
    vectors: Array,
    numbers: IntArray,
    noise: Array,
    weights: tuple[float, float, float],
    dropout: np.random.RandomState | None = None,
) -> tuple[float, list[Array]]:
    """Return the mean loss of samples, and its gradients by the parameters of encoder, decoder and priors.

    ``weights`` are those of the reconstruction, of both divergences, and the margin.
    """
    encoder, decoder, of_means, of_logs = networks
    reconstruction_weight, weight, margin = weights
    codes, trace = encoder.forward(samples, dropout)
    latent, priors = Latent(codes, noise), Priors.of(vectors, of_means, of_logs)
    found, decoder_trace = decoder.forward(latent.drawn, dropout)
    reconstruction, by_found = squared_loss(found, samples)
    of_decoder, by_draws = decoder.backward(reconstruction_weight * by_found, decoder_trace, to_input=True)
    divergences = priors.divergences(latent)
    rows = np.arange(len(samples))
    own = divergences[rows, numbers]
    # log sum exp(-KL) is the cross-entropy of -KL less KL of the own class
    cross_entropy, by_logits = softmax_loss(-divergences, numbers)
    loss = (1 - margin) * float(own.mean()) + margin * cross_entropy
    by_divergences = -weight * margin * by_logits
    by_divergences[rows, numbers] += weight * (1 - margin) / len(samples)
    by_codes, by_means, by_logs = priors.gradients(latent, by_divergences)
    of_encoder, _ = encoder.backward(by_codes + latent.gradient_of_draws(by_draws), trace)
    gradients = [*of_encoder, *of_decoder, by_means.T @ vectors, 2 * by_logs.T @ vectors]
    return reconstruction_weight * reconstruction + weight * loss, gradients
