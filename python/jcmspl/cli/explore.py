"""Write a page to try a model offline in any browser.

The page shows the scores of samples, lets you define a class by its attributes and see which samples it takes from
others and, for the digits, lets you draw one and see its prediction. The method's scores must be linear in the sample.
"""

from __future__ import annotations

import argparse

from jcmspl.cli._models import add_fitted, loaded
from jcmspl.cli._options import add_data, add_output, dataset_for, refuse_existing, save, show
from jcmspl.support.names import GROUPS

EXAMPLES = """\
  jcmspl explore cub.safetensors cub/ -o cub.html --samples 200
  jcmspl explore cub.safetensors cub/ -o cub.html --candidates unseen

  # also adapted to the test samples
  jcmspl explore cub.safetensors cub/ -o cub.html --adapt

  # the digits of the demo, with a panel to draw in
  jcmspl demo -o digits.html
"""
LOADS = ("jcmspl.evaluation.explorer",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_fitted(parser)
    add_data(parser)
    parser.add_argument(
        "--samples", metavar="N", type=int, help="number of samples in the page (default: 500, or as fit into 8 MB)"
    )
    parser.add_argument("--candidates", choices=GROUPS, default="all", help="classes in the page (default: all)")
    parser.add_argument(
        "--adapt", action="store_true", help="also show the model adapted to the unlabelled test samples (transductive)"
    )
    add_output(parser, "the page to write (.html)", required=True)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.evaluation.explorer import Explorer, explore

    refuse_existing(arguments.output, arguments.force, Explorer.check_name)
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
    save(arguments, page)
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
