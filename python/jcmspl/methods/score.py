"""Semantically consistent regularisation: a softmax with codewords that are learnt."""

from jcmspl.methods.semantic_softmax import CodewordSoftmax, SoftmaxObjective
from jcmspl.model.bilinear import Bilinear
from jcmspl.model.iterations import SampleBlocks
from jcmspl.model.parameters import INFINITE_WEIGHT, WEIGHT, estimator, field


@estimator
class SCoRe(CodewordSoftmax, Bilinear):
    """Semantically consistent regularisation (Morgado, Vasconcelos, 2017), on given features.

    ``min over W, C of the mean over samples of (1 - g) (-log softmax(CWx)_y) + g 10 / (d sqrt 2) times the sum over
    attributes of the binary cross-entropy of sigmoid(Wx) + codeword_match |C - S|^2 + penalty |W|^2``, with
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
    codewords_ : ndarray of shape (n_classes, n_attributes)
        C: ``transform(X) @ codewords_.T`` are the scores of training classes by their codewords.
    """

    attribute_match: float = field(default=0.01, metadata=WEIGHT)
    codeword_match: float = field(default=1.0, metadata=INFINITE_WEIGHT)

    EXAMPLE = "codeword_match=0.1"
    PAPER = "Morgado, Vasconcelos (2017): Semantically consistent regularization for zero-shot recognition"
    GRID = {"penalty": (1e-6, 1e-5, 1e-4), "attribute_match": (0.0, 0.01), "codeword_match": (0.1, 1.0)}

    def _objective(self, blocks: SampleBlocks) -> SoftmaxObjective:
        return SoftmaxObjective(blocks, self.penalty, self.attribute_match, self.codeword_match)
