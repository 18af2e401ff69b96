"""Make a page in which a model can be tried, offline, in any browser.

It shows the scores of samples, lets you make up a class by its attributes and see which samples it takes from others
and, with the digits, draw one and see it named. For methods whose scores are linear in the sample.
"""

from __future__ import annotations

import argparse

from jcmspl.cli._models import add_fitted, loaded
from jcmspl.cli._options import add_data, add_output, dataset_for, refuse_existing, say, show
from jcmspl.support.names import GROUPS

EXAMPLES = """\
  jcmspl demo --explore explore.html                       the digits of the demo, which one can draw
  jcmspl explore cub.safetensors cub/ -o cub.html --samples 200
  jcmspl explore cub.safetensors cub/ -o cub.html --candidates unseen
  jcmspl explore cub.safetensors cub/ -o cub.html --adapt         also adapted to the test samples
"""
LOADS = ("jcmspl.evaluation.explorer",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_fitted(parser)
    add_data(parser)
    parser.add_argument(
        "--samples", metavar="N", type=int, help="draw so many, class by class (default: 500, or what fits into 8 MB)"
    )
    parser.add_argument("--candidates", choices=GROUPS, default="all", help="the classes in the page (default: all)")
    parser.add_argument(
        "--adapt", action="store_true", help="also adapted to the test samples without their labels (transductive)"
    )
    add_output(parser, "the page to write, .html", required=True)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.evaluation.explorer import Explorer, explore

    refuse_existing(arguments.output, arguments.force)
    Explorer.check_name(arguments.output)
    model = loaded(arguments)
    dataset = dataset_for(arguments, model)
    page = explore(
        model,
        dataset,
        n_samples=arguments.samples,
        candidates=arguments.candidates,
        adapt=arguments.adapt,
        random_state=arguments.seed,
    )
    page.save(arguments.output, overwrite=arguments.force)
    say(arguments, f"wrote {arguments.output}")
    data = {
        "title": page.title,
        "samples": len(page.rows),
        "classes": len(page.labels),
        "made_up_classes": page.no_new_classes is None,
    }
    lines = [page.title, *page.about]
    if page.no_new_classes is not None:
        lines.append(f"Without made-up classes: {page.no_new_classes}.")
    show(arguments, data, "\n".join(lines))
