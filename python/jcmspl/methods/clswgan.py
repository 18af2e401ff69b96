"""A generative adversarial network of samples, conditional on class vectors, that a classifier helps to train."""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from jcmspl.core.adam import Adam
from jcmspl.model.parameters import COUNT, NOT_NEGATIVE, OPTIONAL_COUNT, NamedArrays, estimator, field
from jcmspl.networks.critic import Critic
from jcmspl.networks.generated import Generated, Generator
from jcmspl.networks.network_method import NetworkData, NetworkMethod, Streams
from jcmspl.networks.perceptron import Array, Perceptron, softmax_loss
from jcmspl.support.arguments import IntArray
from jcmspl.support.warn import warn_user

# Epochs and batch of the classifier of training classes.
_CLASSIFIER_EPOCHS, _CLASSIFIER_BATCH = 50, 100
# The critic's gradient should be about 1 long.
_GOOD_NORMS = (0.5, 2.0)


@estimator
class CLSWGAN(Generated, NetworkMethod):
    r"""f-CLSWGAN, the feature-generating network of Xian, Lorenz, Schiele, Akata (2018).

    A critic D learns to tell real from generated samples of a class, ``mean D(x~, a) - mean D(x, a) + penalty mean
    (|dD/dx^| - 1)^2`` with x^ between x and x~, for n_critic batches; then the generator takes a step on ``-mean D(x~,
    a) + classifier_weight mean -log P(y|x~)``, P a softmax that was trained on real samples of training classes.

    Losses, layers, first weights, Adam and batches are the authors'. Theirs are min-max features with a last ReLU, 4096
    hidden units, 30 to 97 epochs chosen for each data set and a softmax head; ours are whitened samples, class vectors
    of mean square 1 and the cosine with generated means.

    Parameters
    ----------
    penalty : float
        Weight of the gradient penalty.
    classifier_weight : float
        Weight of the loss of the classifier.
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
    classifier_weight: float = field(default=0.01, metadata=NOT_NEGATIVE)
    n_critic: int = field(default=5, metadata=COUNT)
    noise_size: int | None = field(default=None, metadata=OPTIONAL_COUNT)
    batch_size: int = field(default=64, metadata=COUNT)
    learning_rate: float = 1e-4
    max_iter: int = 10

    EXAMPLE = "hidden=64, max_iter=10, learning_rate=0.003"
    PAPER = "Xian, Lorenz, Schiele, Akata (2018): Feature Generating Networks for Zero-Shot Learning"
    COST = 3000.0
    ARRAYS = {**Generated.ARRAYS, "gradient_norm": ()}

    @property
    def gradient_norm_(self) -> float:
        """The mean length of the critic's gradient in the last epoch."""
        return float(self._array("gradient_norm"))

    def _trainer(self, data: NetworkData, streams: Streams) -> CLSWGANTrainer:
        return CLSWGANTrainer(self, data, streams)

    def _warn_of_result(self) -> None:
        warn_of_gradient(self.gradient_norm_)


def warn_of_gradient(norm: float) -> None:
    """Warn of a critic whose gradient is far from 1 long."""
    least, most = _GOOD_NORMS
    if not least <= norm <= most:
        warn_user(
            f"the critic's gradient is {norm:.2g} long at the end and should be about 1, so that generated samples are "
            "not yet like real ones: raise max_iter, or lower learning_rate if losses_ jump",
            ConvergenceWarning,
        )


class CLSWGANTrainer:
    """Generator and critic in training."""

    def __init__(self, model: CLSWGAN, data: NetworkData, streams: Streams) -> None:
        self._model, self._data, self._streams, self._norm = model, data, streams, 0.0
        self._classifier = trained_classifier(data, streams)
        noise_size = model.noise_size or data.n_attributes
        self.generator = Generator.drawn(model, data, streams, noise_size, 0.02)
        self._critic = Critic.drawn(data.n_features, data.n_attributes, model.hidden, streams.weights)
        rate = model.learning_rate
        self._of_generator = Adam(self.generator.network.parameters, rate, beta1=0.5)
        self._of_critic = Adam(self._critic.parameters, rate, beta1=0.5)

    def epoch(self) -> float:
        """Take rounds of steps, and return the mean loss of the critic."""
        n_rounds = -(-len(self._data.samples) // self._model.batch_size)
        losses = [self._round() for _ in range(n_rounds)]
        self._norm = float(np.mean([norm for _, norm in losses]))
        return float(np.mean([loss for loss, _ in losses]))

    def _round(self) -> tuple[float, float]:
        """Return the mean loss of the critic and the mean length of its gradient."""
        data, size, found = self._data, self._model.batch_size, []
        rows = data.batch(size * self._model.n_critic, self._streams.batches)
        vectors = data.class_vectors[data.numbers[rows]]
        generated = self.generator.network(self.generator.inputs(vectors))  # it stands still while the critic learns
        mixes = self._streams.noise.random_sample((len(rows), 1)).astype(np.float32)
        for first in range(0, len(rows), size):
            part = slice(first, first + size)
            loss = self._critic.loss(
                data.samples[rows[part]], generated[part], vectors[part], mixes[part], self._model.penalty
            )
            self._of_critic.step(loss.gradients)
            found.append((loss.value, loss.norm))
        self._of_generator.step(self._generator_loss(vectors[part], data.numbers[rows[part]])[1])
        return float(np.mean([value for value, _ in found])), float(np.mean([norm for _, norm in found]))

    def _generator_loss(self, vectors: Array, numbers: IntArray) -> tuple[float, list[Array]]:
        inputs = self.generator.inputs(vectors)
        return generator_loss(
            self.generator.network,
            self._critic,
            self._classifier,
            inputs,
            vectors,
            numbers,
            self._model.classifier_weight,
        )

    def arrays(self) -> NamedArrays:
        """Return the arrays that prediction needs."""
        return self.generator.arrays() | {"gradient_norm": np.array(self._norm, dtype=np.float32)}


def generator_loss(
    network: Perceptron,
    critic: Critic,
    classifier: Perceptron,
    inputs: Array,
    vectors: Array,
    numbers: IntArray,
    weight: float,
) -> tuple[float, list[Array]]:
    """Return the loss of a generator, and its gradients."""
    found, trace = network.forward(inputs)
    value, by_found = critic.by_samples(found, vectors)
    logits, classifier_trace = classifier.forward(found)
    cross_entropy, by_logits = softmax_loss(logits, numbers)
    by_found += weight * classifier.backward(by_logits, classifier_trace, to_input=True)[1]
    return value + weight * cross_entropy, network.backward(by_found, trace)[0]


def trained_classifier(data: NetworkData, streams: Streams) -> Perceptron:
    """Return a linear softmax of training classes, trained as by the authors."""
    sizes = (data.n_features, len(data.class_vectors))
    classifier = Perceptron.drawn(sizes, ("linear",), 0.02, streams.weights)
    adam = Adam(classifier.parameters, 1e-3, beta1=0.5)
    for _ in range(_CLASSIFIER_EPOCHS):
        for rows in data.batches(_CLASSIFIER_BATCH, streams.batches):
            logits, trace = classifier.forward(data.samples[rows])
            adam.step(classifier.backward(softmax_loss(logits, data.numbers[rows])[1], trace)[0])
    return classifier
