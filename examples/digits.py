"""Zero-shot digits: learn from images of seven digits, then recognise three that were never seen.

The class vectors say which strokes a digit has, in the manner of a seven-segment display. Run:

    pip install '.[examples]' && python examples/digits.py
"""

import numpy as np
from sklearn.datasets import load_digits

from jcmspl import AffineScorer, Spectrum, Statistics, solve

# top, upper left, upper right, middle, lower left, lower right, bottom
SEGMENTS = {
    0: (1, 1, 1, 0, 1, 1, 1),
    1: (0, 0, 1, 0, 0, 1, 0),
    2: (1, 0, 1, 1, 1, 0, 1),
    3: (1, 0, 1, 1, 0, 1, 1),
    4: (0, 1, 1, 1, 0, 1, 0),
    5: (1, 1, 0, 1, 0, 1, 1),
    6: (1, 1, 0, 1, 1, 1, 1),
    7: (1, 0, 1, 0, 0, 1, 0),
    8: (1, 1, 1, 1, 1, 1, 1),
    9: (1, 1, 1, 1, 0, 1, 1),
}
UNSEEN = (2, 4, 6)


def main() -> None:
    """Train on the seen digits, test on the others, print a table."""
    X, digits = load_digits(return_X_y=True)
    vectors = np.array([SEGMENTS[digit] for digit in range(10)], dtype=float)
    seen = np.array([digit for digit in range(10) if digit not in UNSEEN])
    train, test = np.isin(digits, seen), np.isin(digits, UNSEEN)
    centre, centre_vector = X[train].mean(axis=0), vectors[seen].mean(axis=0)

    labels = np.searchsorted(seen, digits[train])
    statistics = Statistics.from_samples(X[train] - centre, labels)
    spectrum = Spectrum(statistics, vectors[seen] - centre_vector)
    model = solve(spectrum, l1=0.01, l2=1, l3=0.1, l4=0.01, random_state=0)
    print(f"trained on {train.sum()} images of the digits {seen.tolist()}: {model.n_iter} iterations")

    for space in ("semantic", "visual", "concept"):
        scorer = AffineScorer.fold(
            model.visual_projection,
            model.semantic_projection,
            vectors[list(UNSEEN)] - centre_vector,
            space=space,
        )
        best, _ = scorer.top_k(X[test] - centre)
        right = np.array(UNSEEN)[best[:, 0]] == digits[test]
        per_class = [right[digits[test] == digit].mean() for digit in UNSEEN]
        shares = ", ".join(f"{digit}: {share:.0%}" for digit, share in zip(UNSEEN, per_class, strict=True))
        print(f"unseen digits, {space + ' space:':15} {np.mean(per_class):.1%} per class ({shares}); chance 33.3%")


if __name__ == "__main__":
    main()
