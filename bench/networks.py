"""Prints the table of networks of docs/methods.md, in Markdown: accuracy over several seeds, and CPU seconds of fits.

Data sets and their parts are those of ``methods.py``; half of the classes of clip_sun, drawn at random, are unseen.
Nothing is chosen on test classes: all methods have their default parameters. ``--step`` measures a step of the critic
of f-CLSWGAN instead, beside automatic differentiation by torch where that is installed.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from jcmspl.core.adam import Adam
from jcmspl.methods import JCMSPL, ClassMeanRidge
from jcmspl.model import registry
from jcmspl.networks.critic import Critic
from methods import dataset_of

try:
    import torch
except ImportError:
    torch = None

SETS = ("cub", "clinc150", "esc50", "clip_sun")
NETWORKS = [name for name in registry.names() if registry.get(name).NETWORK]
# What networks are to beat: ridge regression of class means in their normalisation, and the package's default.
RIDGE = {"feature_normalisation": "auto_power+sample_l2+center+whiten", "metric": "cosine", "seen_mean_share": 0.5}
CLOSED_FORMS = {"ClassMeanRidge": lambda: ClassMeanRidge(**RIDGE), "JCMSPL": lambda: JCMSPL(space="visual")}
COLUMNS = ("unseen", "AUSUC", "H", "seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", metavar="METHOD", nargs="*", help="some methods (default: all networks)")
    parser.add_argument("--set", choices=SETS, action="append", help="some data sets (default: all)")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds (default: 3)")
    parser.add_argument("--json", type=Path, help="keep figures in this file, and go on from what it has")
    parser.add_argument("--step", action="store_true", help="measure a step of the critic")
    arguments = parser.parse_args()
    if arguments.step:
        measure_step()
        return
    found = json.loads(arguments.json.read_text()) if arguments.json and arguments.json.exists() else {}
    print("| set | method | unseen | AUSUC | H | CPU seconds |\n|---|---|---|---|---|---|")
    for place in arguments.set or SETS:
        dataset = dataset_of(place)
        for name in arguments.methods or [*CLOSED_FORMS, *NETWORKS]:
            seeds = range(1 if name in CLOSED_FORMS else arguments.seeds)
            for key in [f"{place} {name} {seed}" for seed in seeds]:
                if key not in found:
                    found[key] = dict(zip(COLUMNS, measured(dataset, name, int(key.split()[-1])), strict=True))
                    if arguments.json:
                        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
            figures = [[found[f"{place} {name} {seed}"][column] for column in COLUMNS] for seed in seeds]
            print(f"| {place} | {name} | {' | '.join(cells(np.array(figures)))} |", flush=True)


def cells(figures):
    """Return the mean over seeds and the standard deviation of each share, in per cent, and the mean of seconds."""
    means = figures.mean(axis=0)
    if len(figures) == 1:
        return [f"{100 * mean:.1f}" for mean in means[:3]] + [f"{means[3]:.1f}"]
    deviations = figures.std(axis=0, ddof=1)
    shares = [f"{100 * mean:.1f} ± {100 * deviation:.1f}" for mean, deviation in zip(means, deviations, strict=True)]
    return [*shares[:3], f"{means[3]:.0f}"]


def measured(dataset, name, seed):
    """Return the accuracy on unseen classes, the AUSUC, H without calibration, and the CPU seconds of a fit."""
    model = CLOSED_FORMS[name]() if name in CLOSED_FORMS else registry.get(name)(random_state=seed)
    X, y = dataset.part("trainval")
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(progress=False).fit(X, y, class_vectors=dataset.classes)
        seconds = time.process_time() - started
        parts = [dataset.part(part) for part in ("test_unseen", "test_seen")]
        alone = per_class(model, *parts[0], candidates=dataset.unseen)
        among_all = [per_class(model, *part) for part in parts]
        curve = model.generalized_curve(*(np.concatenate(both) for both in zip(*parts, strict=True)))
    return alone, curve.area(), 2 * float(np.prod(among_all)) / max(sum(among_all), 1e-12), seconds


def per_class(model, X, y, **options):
    right = model.predict(X, **options) == np.asarray(y)
    return float(np.mean([right[y == label].mean() for label in np.unique(y)]))


def measure_step(size=64, d=312) -> None:
    """Print milliseconds of CPU of a step of the critic, gradient and Adam."""
    for m, hidden in ((1280, 1024), (256, 1024)):
        rng = np.random.RandomState(0)
        critic = Critic.drawn(m, d, hidden, rng)
        real, generated, vectors = (rng.random_sample((size, n)).astype(np.float32) for n in (m, m, d))
        mix = rng.random_sample((size, 1)).astype(np.float32)
        adam = Adam(critic.parameters, 1e-4, beta1=0.5)
        ours = milliseconds(lambda: adam.step(critic.loss(real, generated, vectors, mix, 10.0).gradients))  # noqa: B023
        theirs = "torch is not installed"
        if torch is not None:
            of_torch = milliseconds(torch_step(critic, real, generated, vectors, mix))
            theirs = f"torch {of_torch:.1f} ms, {of_torch / ours:.2f} times as long"
        print(f"m {m}, hidden {hidden}: {ours:.1f} ms; {theirs}")


def torch_step(critic, real, generated, vectors, mix):
    """Return a function that takes the same step by automatic differentiation."""
    torch.set_num_threads(1)
    weights, bias, output = (torch.tensor(one, requires_grad=True) for one in critic.parameters)
    real, generated, vectors, mix = map(torch.tensor, (real, generated, vectors, mix))
    adam = torch.optim.Adam([weights, bias, output], lr=1e-4, betas=(0.5, 0.999), foreach=True)

    def values(samples):
        layer = torch.cat([samples, vectors], 1) @ weights.T + bias
        return torch.nn.functional.leaky_relu(layer, 0.2) @ output

    def step():
        adam.zero_grad()
        mixed = (mix * real + (1 - mix) * generated).requires_grad_()
        (gradient,) = torch.autograd.grad(values(mixed).sum(), mixed, create_graph=True)
        penalty = ((gradient.norm(dim=1) - 1) ** 2).mean()
        (values(generated).mean() - values(real).mean() + 10 * penalty).backward()
        adam.step()

    return step


def milliseconds(step, seconds=2.0):
    """Return the CPU time of a step, in the mean of as many as fit into some seconds."""
    step()
    started, n = time.process_time(), 0
    while time.process_time() - started < seconds:
        step()
        n += 1
    return 1000 * (time.process_time() - started) / n


if __name__ == "__main__":
    main()
