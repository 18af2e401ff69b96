"""Two variational autoencoders, of samples and of class vectors, with one latent space."""

from __future__ import annotations

import numpy as np

from jcmspl.core.adam import Adam
from jcmspl.model.kinds import Embedding
from jcmspl.model.parameters import COUNT, NOT_NEGATIVE, NamedArrays, estimator, field
from jcmspl.networks.network_method import (
    NetworkData,
    NetworkMethod,
    Streams,
    layer_arrays,
    layer_shapes,
    perceptron_of,
)
from jcmspl.networks.perceptron import Array, Latent, Perceptron, absolute_loss
from jcmspl.support.arguments import Float64Array, FloatArray

_ACTIVATIONS = ("relu", "linear")
# The parts of training, in hundredths, in which the weights of a term rise from 0.
_CROSS, _DIVERGENCE, _ALIGNMENT = (21, 75), (0, 93), (6, 22)


@estimator
class CADAVAE(NetworkMethod, Embedding):
    r"""CADA-VAE (Schönfeld et al., 2019): autoencoders of samples and of class vectors that are aligned.

    The loss of a sample x with the class vector a is ``|x - x^_x| + |a - a^_a| + cross_weight (|x - x^_a| + |a - a^_x|)
    + divergence_weight (KL_x + KL_a) + alignment_weight sqrt(|mean_x - mean_a|^2 + |deviation_x - deviation_a|^2)``,
    where x^_a is decoded from the latent vector of a, and so on. Samples and classes are then compared by their latent
    means, in units of the deviations of samples from their class.

    Losses, γ, β, first weights and warm-ups, as shares of training, are the authors', with variances and noise as the
    paper has them and not as in the public code, which draws one number for all latent dimensions and takes the
    variance for the deviation. Theirs are δ = 8.13, hidden layers of 1560, 1660, 1450 and 665, 100 epochs at a learning
    rate of 1.5e-4 and a softmax on draws; ours are one width, fewer epochs, whitened samples and cosines of means.

    Parameters
    ----------
    latent_size : int
        The length of the latent vector.
    cross_weight, divergence_weight, alignment_weight : float
        The paper's γ, β and δ, each after its warm-up.
    batch_size : int
        The number of samples in a step.
    metric
        How latent means are compared.
    """

    latent_size: int = field(default=64, metadata=COUNT)
    cross_weight: float = field(default=2.37, metadata=NOT_NEGATIVE)
    divergence_weight: float = field(default=0.25, metadata=NOT_NEGATIVE)
    alignment_weight: float = field(default=2.0, metadata=NOT_NEGATIVE)
    batch_size: int = field(default=50, metadata=COUNT)
    learning_rate: float = 5e-4
    max_iter: int = 10

    EXAMPLE = "hidden=64, max_iter=20, learning_rate=0.003"
    PAPER = "Schönfeld et al. (2019): Generalized Zero- and Few-Shot Learning via Aligned Variational Autoencoders"
    COST = 350.0
    ARRAYS = {
        **layer_shapes("sample_encoder", "m", "h1", "k2"),
        **layer_shapes("class_encoder", "d", "h2", "k2"),
        "deviations": ("k",),
        **NetworkMethod.COMMON,
    }

    def _trainer(self, data: NetworkData, streams: Streams) -> CADAVAETrainer:
        return CADAVAETrainer(self, data, streams)

    def _embed(self, Z: FloatArray) -> FloatArray:
        return self._places("sample_encoder", Z.astype(np.float64) * float(self.arrays_["feature_unit"]))

    def _prototypes(self, class_vectors: Float64Array) -> Float64Array:
        rows, which = np.unique(class_vectors, axis=0, return_inverse=True)  # equal classes must tie
        return self._places("class_encoder", rows * float(self.arrays_["class_unit"]))[which.reshape(-1)]

    def _places(self, encoder: str, inputs: Float64Array) -> Float64Array:
        means = perceptron_of(self.arrays_, encoder, _ACTIVATIONS)(inputs)[:, : len(self.arrays_["deviations"])]
        return np.asarray(means / self.arrays_["deviations"])


class CADAVAETrainer:
    """Both autoencoders in training."""

    def __init__(self, model: CADAVAE, data: NetworkData, streams: Streams) -> None:
        self._model, self._data, self._streams, self._done = model, data, streams, 0
        sizes, h, k = (data.n_features, data.n_attributes), model.hidden, model.latent_size
        self.encoders = [Perceptron.drawn((n, h, 2 * k), _ACTIVATIONS, "half_glorot", streams.weights) for n in sizes]
        self.decoders = [Perceptron.drawn((k, h, n), _ACTIVATIONS, "half_glorot", streams.weights) for n in sizes]
        parameters = [array for one in (*self.encoders, *self.decoders) for array in one.parameters]
        self._adam = Adam(parameters, model.learning_rate, amsgrad=True)

    def epoch(self) -> float:
        """Learn from as many samples as there are, and return the mean loss."""
        self._done += 1
        data, model, losses = self._data, self._model, []
        of_terms = (
            (model.cross_weight, _CROSS),
            (model.divergence_weight, _DIVERGENCE),
            (model.alignment_weight, _ALIGNMENT),
        )
        weights = tuple(weight * self._warm(*parts) for weight, parts in of_terms)
        for rows in data.batches(model.batch_size, self._streams.batches):
            noise = self._streams.noise.standard_normal((2, len(rows), model.latent_size)).astype(np.float32)
            pairs = [data.samples[rows], data.class_vectors[data.numbers[rows]]]
            loss, gradients = aligned_loss(self.encoders, self.decoders, pairs, noise, weights)
            self._adam.step(gradients)
            losses.append(loss)
        return float(np.mean(losses))

    def _warm(self, first: float, last: float) -> float:
        """Return the share of its weight that a term has in this epoch."""
        return float(np.clip((100 * self._done / self._model.max_iter - first) / (last - first), 0, 1))

    def arrays(self) -> NamedArrays:
        """Return the arrays that prediction needs."""
        k, data = self._model.latent_size, self._data
        of_samples, of_classes = (
            encoder(inputs)[:, :k]
            for encoder, inputs in zip(self.encoders, (data.samples, data.class_vectors), strict=True)
        )
        squares = (of_samples - of_classes[data.numbers]) ** 2
        deviations = np.sqrt(np.average(squares, axis=0, weights=data.weights)).astype(squares.dtype)
        found = layer_arrays("sample_encoder", self.encoders[0]) | layer_arrays("class_encoder", self.encoders[1])
        return found | {"deviations": np.maximum(deviations, deviations.dtype.type(1e-6))}


def aligned_loss(
    encoders: list[Perceptron],
    decoders: list[Perceptron],
    pairs: list[Array],
    noise: Array,
    weights: tuple[float, ...],
) -> tuple[float, list[Array]]:
    """Return the mean loss of pairs of samples and class vectors, and its gradients by encoders and decoders.

    ``weights`` are those of cross reconstruction, divergence and alignment.
    """
    cross_weight, divergence_weight, alignment_weight = weights
    coded = [encoder.forward(one) for encoder, one in zip(encoders, pairs, strict=True)]
    latents = [Latent(codes, own) for (codes, _), own in zip(coded, noise, strict=True)]
    loss, by_codes = 0.0, []
    for latent in latents:
        divergence, gradient = latent.divergence()
        loss += divergence_weight * divergence
        by_codes.append(divergence_weight * gradient)
    of_decoders: list[list[Array]] = []
    for number, (decoder, wanted) in enumerate(zip(decoders, pairs, strict=True)):
        sums: list[Array] = []
        for other, latent in enumerate(latents):
            weight = 1.0 if number == other else cross_weight
            found, trace = decoder.forward(latent.drawn)
            reconstruction, by_found = absolute_loss(found, wanted)
            loss += weight * reconstruction
            gradients, by_draws = decoder.backward(weight * by_found, trace, to_input=True)
            sums = [one + more for one, more in zip(sums, gradients, strict=True)] if sums else gradients
            by_codes[other] = by_codes[other] + latent.gradient_of_draws(by_draws)
        of_decoders.append(sums)
    distance, of_each = alignment(*latents)
    loss += alignment_weight * distance
    of_encoders = [
        encoder.backward(own + alignment_weight * more, trace)[0]
        for encoder, own, more, (_, trace) in zip(encoders, by_codes, of_each, coded, strict=True)
    ]
    return loss, [array for part in (*of_encoders, *of_decoders) for array in part]


def alignment(one: Latent, other: Latent) -> tuple[float, list[Array]]:
    """Return the mean distance of two distributions in Wasserstein's sense, and its gradients by the codes of both."""
    deviations, others = np.exp(one.logs / 2), np.exp(other.logs / 2)
    of_means, of_deviations = one.means - other.means, deviations - others
    distances = np.sqrt(np.sum(of_means**2 + of_deviations**2, axis=1, keepdims=True)) + of_means.dtype.type(1e-12)
    scale = 1 / (len(distances) * distances)
    gradients = [
        one.gradient(scale * of_means, scale * of_deviations * deviations / 2),
        other.gradient(-scale * of_means, -scale * of_deviations * others / 2),
    ]
    return float(distances.mean()), gradients
