"""Check a data set: wrong labels, class vectors that do not fit, classes with the same vector, leaked test samples."""

from __future__ import annotations

import argparse
from pathlib import Path

from jcmspl.cli._models import add_method, made, parameters_of
from jcmspl.cli._options import add_data, add_output, dataset_of, is_shown, refuse_existing, say, say_what_is_replaced
from jcmspl.model import registry

EXAMPLES = """\
  jcmspl check clip_cars.npz
  jcmspl check features.npy --labels labels.txt --classes attributes.csv
  jcmspl check cub/ --rows 100 -o issues.json        more lines; everything as JSON in a file
"""
LOADS = ("jcmspl.evaluation.data_checks",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_data(parser)
    add_method(parser, "a parameter of the method that judges (may be repeated)", ())
    parser.add_argument("--rows", metavar="N", type=int, default=20, help="the most lines of a table (default: 20)")
    add_output(parser, "also write all findings: .json or .txt")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.evaluation.data_checks import check_data
    from jcmspl.io.files import write_atomically

    refuse_existing(arguments.output, arguments.force)
    if arguments.output is not None and Path(arguments.output).suffix not in (".json", ".txt"):
        raise ValueError(f"{arguments.output} must end in .json or .txt")
    if arguments.rows < 1:
        raise ValueError(f"--rows must be at least 1, but is {arguments.rows}")
    dataset = dataset_of(arguments)
    method = registry.get(arguments.method)
    model = made(arguments, method, parameters_of(arguments, method)).set_params(progress=False)
    found = check_data(dataset, model=model, random_state=arguments.seed, progress=not arguments.quiet)
    say_what_is_replaced(arguments, dataset.X)
    if arguments.output is not None:
        is_json = Path(arguments.output).suffix == ".json"
        text = found.to_json() if is_json else found.to_text(len(dataset.y))
        write_atomically(Path(arguments.output), text.encode(), overwrite=arguments.force)
        say(arguments, f"wrote {arguments.output}")
    if is_shown(arguments):
        print(found.to_json() if arguments.json else found.to_text(arguments.rows), end="")
