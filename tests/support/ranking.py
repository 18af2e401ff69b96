"""The textbook form of learning to rank: one sample after the other, one class after the other."""

import numpy as np


def random_index(seed, step, count):
    """One of 0..count-1, by SplitMix64."""
    mask = 2**64 - 1
    z = (seed + (step + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    z ^= z >> 31
    return ((z >> 32) * count) >> 32


def textbook(maps, S, X, labels, violators, *, margin, rate, seed, first_step=0):
    """Return the maps after each step and the sum of the losses; S a row for each class, X for each sample."""
    maps, steps, total = np.array(maps), [], 0.0
    for step, (x, y) in enumerate(zip(X, labels, strict=True), start=first_step):
        of_maps = np.array([[s @ W @ x for s in S] for W in maps])
        F, best = of_maps.max(axis=0), of_maps.argmax(axis=0)
        losses = {j: margin + F[j] - F[y] for j in range(len(S)) if j != y and margin + F[j] - F[y] > 0}
        r = len(losses)
        chosen, weight = [], 1.0
        if r and violators == "any":
            chosen, loss = [list(losses)[random_index(seed, step, r)]], sum(losses.values())
        elif r and violators == "worst":
            chosen, loss = [max(losses, key=losses.get)], max(losses.values())
        elif r:
            weight = sum(1 / i for i in range(1, r + 1)) / r
            chosen, loss = list(losses), weight * sum(losses.values())
        total += loss if r else 0.0
        for j in chosen:
            maps[best[y]] += rate * weight * np.outer(S[y], x)
            maps[best[j]] -= rate * weight * np.outer(S[j], x)
        steps.append(maps.copy())
    return steps, total


def settled(X, S, codes):
    """Return class vectors and numbers with classes in the order of their samples, and the order of samples."""
    direction = np.random.RandomState(0).standard_normal(X.shape[1])
    classes = np.argsort([X[codes == k].mean(axis=0) @ direction for k in range(len(S))])
    return S[classes], np.argsort(classes)[codes], np.argsort(X @ direction)


def textbook_fit(model, X, S, codes, n_maps=1):
    """Return the maps of a model without early stopping; X, S normalised, a row for each sample and class."""
    generator = np.random.RandomState(model.random_state)
    maps = np.zeros((n_maps, S.shape[1], X.shape[1]))
    if n_maps > 1:
        lengths = [np.sqrt(np.mean(np.sum(rows**2, axis=1))) for rows in (X, S)]
        maps = 0.1 * model.margin / np.prod(lengths) * generator.standard_normal(maps.shape)
    seed = int(generator.randint(2**31 - 1))
    S, codes, order = settled(X, S, codes)
    steps = []
    for epoch in range(model.max_iter):
        rows = order[generator.permutation(len(order))]
        options = {"margin": model.margin, "rate": model.learning_rate, "seed": seed}
        more, loss = textbook(maps, S, X[rows], codes[rows], model.VIOLATORS, **options, first_step=epoch * len(rows))
        steps, maps = steps + more, more[-1]
        if loss == 0:
            break
    return np.mean(steps, axis=0) if model.average else maps
