"""Read a data set in any layout and write it as one npz file or in the layout of the xlsa17 files."""

from __future__ import annotations

import argparse
from pathlib import Path

from jcmspl.cli._options import add_data, add_output, dataset_of, refuse_existing, refuse_full, show

EXAMPLES = """\
  jcmspl convert cub/ -o cub.npz                           one file that is read without a copy
  jcmspl convert features.npy --labels labels.txt --classes attributes.csv --split split.csv -o mine/ --to xlsa17
                                                           features.mat and att_splits.mat of your own data
  jcmspl convert features.csv --classes attributes.csv --unseen 0.25 -o mine.npz
                                                           with a split drawn at random (see --seed)
"""
LOADS = ("jcmspl.datasets",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_data(parser)
    parser.add_argument("--to", choices=("npz", "xlsa17"), help="the layout (default: npz for *.npz, else xlsa17)")
    add_output(parser, "an .npz file, or a folder for xlsa17", required=True)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    from jcmspl.datasets import save_npz, save_xlsa17

    output = Path(arguments.output)
    if arguments.to is None and output.suffix not in ("", ".npz"):
        raise ValueError(f"{output} is neither an .npz file nor a folder: name one, or the layout with --to")
    layout = arguments.to or ("npz" if output.suffix == ".npz" else "xlsa17")
    if layout == "npz":
        refuse_existing(arguments.output, arguments.force)
    else:
        refuse_full(output, arguments.force)
    dataset = dataset_of(arguments)
    (save_npz if layout == "npz" else save_xlsa17)(dataset, output, overwrite=arguments.force)
    data = {"output": str(output), "layout": layout, "samples": len(dataset.X)}
    show(arguments, data, f"wrote {len(dataset.X):,} samples of {dataset.name} to {output} ({layout})")
