"""A generative adversarial network of samples, conditional on class vectors, that a classifier helps to train."""

from __future__ import annotations

import numpy as np

from jcmspl.core.adam import Adam
from jcmspl.model.parameters import NOT_NEGATIVE, estimator, field
from jcmspl.networks.adversarial import Adversarial, AdversarialTrainer
from jcmspl.networks.critic import Critic
from jcmspl.networks.network_method import NetworkData, NetworkMethod, Streams
from jcmspl.networks.perceptron import Array, Perceptron, softmax_loss
from jcmspl.support.arguments import IntArray

# Epochs and batch of the classifier of training classes.
_CLASSIFIER_EPOCHS, _CLASSIFIER_BATCH = 50, 100


@estimator
class CLSWGAN(Adversarial, NetworkMethod):
    r"""f-CLSWGAN, the feature-generating network of Xian, Lorenz, Schiele, Akata (2018).

    A critic D learns to tell real from generated samples of a class, ``mean D(x~, a) - mean D(x, a) + penalty mean
    (|dD/dx^| - 1)^2`` with x^ between x and x~, for n_critic batches; then the generator takes a step on ``-mean D(x~,
    a) + classifier_weight mean -log P(y|x~)``, P a softmax that was trained on real samples of training classes.

    Losses, layers, first weights, Adam and batches are the authors'. Theirs are min-max features with a last ReLU, 4096
    hidden units, 30 to 97 epochs chosen for each data set and a softmax head; ours are whitened samples, class vectors
    of mean square 1 and the cosine with generated means.

    Parameters
    ----------
    classifier_weight : float
        Weight of the loss of the classifier.
    """

    classifier_weight: float = field(default=0.01, metadata=NOT_NEGATIVE)

    EXAMPLE = "hidden=64, max_iter=10, learning_rate=0.003"
    PAPER = "Xian, Lorenz, Schiele, Akata (2018): Feature Generating Networks for Zero-Shot Learning"
    COST = 3000.0

    def _trainer(self, data: NetworkData, streams: Streams) -> CLSWGANTrainer:
        return CLSWGANTrainer(self, data, streams)


class CLSWGANTrainer(AdversarialTrainer):
    """Generator and critic in training."""

    def __init__(self, model: CLSWGAN, data: NetworkData, streams: Streams) -> None:
        self._classifier, self._weight = trained_classifier(data, streams), model.classifier_weight
        super().__init__(model, data, streams, 0.02)
        self._of_generator = Adam(self.generator.network.parameters, model.learning_rate, beta1=0.5)
        self._of_critic = Adam(self.critic.parameters, model.learning_rate, beta1=0.5)

    def _round(self) -> tuple[float, float]:
        """Return the mean loss of the critic and the mean length of its gradient."""
        data, size, found = self._data, self._size, []
        rows = data.batch(size * self._n_critic, self._streams.batches)
        vectors = data.class_vectors[data.numbers[rows]]
        generated = self.generator.network(self.generator.inputs(vectors))  # it stands still while the critic learns
        mixes = self._streams.noise.random_sample((len(rows), 1)).astype(np.float32)
        for first in range(0, len(rows), size):
            part = slice(first, first + size)
            loss = self.critic.loss(
                data.samples[rows[part]], generated[part], vectors[part], mixes[part], self._penalty
            )
            self._of_critic.step(loss.gradients)
            found.append((loss.value, loss.norm))
        self._of_generator.step(self._generator_loss(vectors[part], data.numbers[rows[part]])[1])
        return float(np.mean([value for value, _ in found])), float(np.mean([norm for _, norm in found]))

    def _generator_loss(self, vectors: Array, numbers: IntArray) -> tuple[float, list[Array]]:
        inputs, network = self.generator.inputs(vectors), self.generator.network
        return generator_loss(network, self.critic, self._classifier, inputs, vectors, numbers, self._weight)


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
