"""Convert a data set of any layout to an npz file or to the xlsa17 layout."""

from __future__ import annotations

import argparse
from pathlib import Path

from jcmspl.cli._options import add_data, add_output, dataset_of, refuse_existing, refuse_filled, show

EXAMPLES = """\
  # one file that is memory-mapped when it is read
  jcmspl convert cub/ -o cub.npz

  # your own data as features.mat and att_splits.mat
  jcmspl convert features.npy --labels labels.txt --classes attributes.csv \\
      --split split.csv -o mine/ --to xlsa17

  # with a random split (see --seed)
  jcmspl convert features.csv --classes attributes.csv --unseen 0.25 -o mine.npz
"""
LOADS = ("jcmspl.datasets",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_data(parser)
    parser.add_argument("--to", choices=("npz", "xlsa17"), help="layout to write (default: by the name of FILE)")
    add_output(parser, ".npz file, or folder for xlsa17", required=True)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.datasets import save_npz, save_xlsa17

    output = Path(arguments.output)
    if arguments.to is None and output.suffix not in ("", ".npz"):
        raise ValueError(f"{output} is neither an .npz file nor a folder: rename it, or give the layout with --to")
    layout = arguments.to or ("npz" if output.suffix == ".npz" else "xlsa17")
    if layout == "npz":
        refuse_existing(arguments.output, arguments.force)
    else:
        refuse_filled(output, arguments.force)
    dataset = dataset_of(arguments)
    (save_npz if layout == "npz" else save_xlsa17)(dataset, output, overwrite=arguments.force)
    data = {"output": str(output), "layout": layout, "samples": len(dataset.X)}
    show(arguments, data, f"wrote {len(dataset.X):,} samples of {dataset.name} to {output} ({layout})")
