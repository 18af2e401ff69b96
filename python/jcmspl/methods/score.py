"""Semantically consistent regularisation: a softmax with codewords that are learnt."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from jcmspl.methods.semantic_softmax import SemanticSoftmax, SoftmaxObjective
from jcmspl.model.iterations import SampleBlocks
from jcmspl.model.parameters import INFINITE_WEIGHT, WEIGHT, estimator


@estimator
class SCoRe(SemanticSoftmax):
    """Semantically consistent regularisation (Morgado, Vasconcelos, 2017), on given features.

    ``min over T, C of the mean over samples of (1 - g) (-log softmax(CTx)_y) + g 10 / (d sqrt 2) times the sum over
    attributes of the binary cross-entropy of sigmoid(Tx) + codeword_match |C - S|^2 + penalty |T|^2``, with
    g = attribute_match / (1 + attribute_match), d attributes, and S the class vectors, of length one. The objective and
    its constants are as published; the authors train the network that makes the features, too, and do so by gradient
    descent on small batches. That an attribute of a class is a label from 0, the least in the training classes, to 1,
    the largest, is ours. Where the authors have word vectors they replace the second term, which is for attributes, by
    a softmax over codeword scores of each source; what that is to match is not known well enough to build it: set
    attribute_match=0 there. Classes are recognised by their vectors, training classes too.

    Parameters
    ----------
    attribute_match : float
        The paper's γ. 0: attributes are not looked at one by one.
    codeword_match : float
        The paper's λ. Infinity: codewords C are the class vectors S.

    Attributes
    ----------
    visual_projection_ : ndarray of shape (n_attributes, n_features)
        T.
    codewords_ : ndarray of shape (n_classes, n_attributes)
        C: ``transform(X) @ codewords_.T`` are the scores of training classes by their codewords.

    Examples
    --------
    >>> from jcmspl.methods import SCoRe
    >>> from jcmspl.datasets import make_zsl
    >>> data = make_zsl(n_seen=30, n_unseen=5, random_state=1)
    >>> model = SCoRe(codeword_match=0.1).fit(*data.part("train"), class_vectors=data.classes)
    >>> model.score(*data.part("test_unseen")) > 0.2  # chance
    True
    """

    attribute_match: float = field(default=0.01, metadata=WEIGHT)
    codeword_match: float = field(default=1.0, metadata=INFINITE_WEIGHT)

    PAPER: ClassVar[str] = (
        "Morgado, Vasconcelos (2017): Semantically consistent regularization for zero-shot recognition"
    )
    GRID: ClassVar[dict[str, tuple[Any, ...]]] = {
        "penalty": (1e-6, 1e-5, 1e-4),
        "attribute_match": (0.0, 0.01),
        "codeword_match": (0.1, 1.0),
    }

    def _objective(self, blocks: SampleBlocks) -> SoftmaxObjective:
        return SoftmaxObjective(blocks, self.penalty, self.attribute_match, self.codeword_match)
