"""Compute features of the pictures in a folder, or class vectors of texts, with your own ONNX model.

The class of a picture is the name of its folder. The preparation of pictures is read from the model or from a
preprocessor_config.json next to it, or given by options. After Ctrl-C the same command continues where it stopped.
Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import Any

from jcmspl.cli._options import add_output, refuse_existing, say, show
from jcmspl.support.names import PICTURE_LAYOUTS, PICTURE_NORMALISATIONS, POOLINGS, RESAMPLES
from jcmspl.support.shown import listed, shown

EXAMPLES = """\
  jcmspl embed birds/ --model vision.onnx -o features.npz
  jcmspl embed --text descriptions.csv --model text.onnx -o classes.npz

  # use the two files
  jcmspl fit features.npz --classes classes.npz -o model.safetensors

  # for a model without a description of its preparation
  jcmspl embed birds/ --model vision.onnx --size 224 --normalise imagenet \\
      -o features.npz

  # the mean over several templates
  jcmspl embed --text names.txt --template "a photo of a {}" \\
      --template "a drawing of a {}" --model text.onnx -o classes.npz
"""
LOADS = ("jcmspl.embed",)

_OF_ENCODER = ("size", "resize", "resample", "layout", "normalise", "mean", "std", "scale", "config")
_OF_PICTURES = (*_OF_ENCODER, "labels", "skip_damaged")
_OF_TEXTS = ("tokenizer", "template", "max_length", "pad_to")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="pictures, one folder per class")
    parser.add_argument("--text", metavar="FILE", help="texts: a CSV of class names and texts, or one name per line")
    parser.add_argument("--model", metavar="FILE", required=True, help="the encoder, an ONNX file")
    parser.add_argument(
        "--pooling",
        choices=POOLINGS,
        default="auto",
        help="reduction of several output vectors to one: mean, cls (the first), pooled (the output is one vector), "
        "auto (default)",
    )
    parser.add_argument("--take", metavar="NAME", help="output of the model to use (default: the embedding)")
    parser.add_argument("--batch-size", metavar="N", type=int, default=32, help="inputs per run (default: 32)")
    parser.add_argument("--threads", metavar="N", type=int, help="number of threads (default: number of cores)")
    pictures = parser.add_argument_group("pictures")
    pictures.add_argument(
        "--labels", metavar="FILE", help="CSV of paths below FOLDER and their classes; other pictures are left out"
    )
    pictures.add_argument(
        "--size", metavar="N", type=_size, help="final size in pixels: 224, or height x width: 224x320"
    )
    pictures.add_argument(
        "--resize",
        metavar="N",
        type=_resize,
        help="size of the shorter side before the centre is cropped; or `exact`: no cropping",
    )
    pictures.add_argument("--resample", choices=RESAMPLES, help="filter for resizing (default: bicubic)")
    pictures.add_argument("--layout", choices=PICTURE_LAYOUTS, help="order of the axes of the model's input")
    pictures.add_argument(
        "--normalise",
        choices=PICTURE_NORMALISATIONS,
        help="normalisation of pixel values: clip, imagenet, half (-1 to 1), none (0 to 1), raw (0 to 255)",
    )
    pictures.add_argument("--mean", metavar="R,G,B", type=_numbers, help="mean to subtract from the scaled values")
    pictures.add_argument("--std", metavar="R,G,B", type=_numbers, help="standard deviation to divide by")
    pictures.add_argument("--scale", metavar="X", type=float, help="factor applied first (default: 1/255)")
    pictures.add_argument("--config", metavar="FILE", help="preprocessor_config.json (default: next to the model)")
    pictures.add_argument(
        "--skip-damaged", action="store_true", default=None, help="leave out pictures that cannot be read"
    )
    texts = parser.add_argument_group("texts")
    texts.add_argument("--tokenizer", metavar="FILE", help="tokenizer.json (default: next to the model)")
    texts.add_argument(
        "--template",
        metavar="TEXT",
        action="append",
        help='sentence for each text, "a photo of a {}" (may be repeated)',
    )
    texts.add_argument("--max-length", metavar="N", type=int, help="maximum number of tokens")
    texts.add_argument("--pad-to", metavar="N", type=int, help="pad texts to this number of tokens (SigLIP: 64)")
    add_output(parser, ".npz file of features or of class vectors", required=True)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    if (arguments.folder is None) == (arguments.text is None):
        raise ValueError("name a FOLDER of pictures, or a file of descriptions with --text FILE, one of the two")
    strange, what = (_OF_TEXTS, "descriptions") if arguments.text is None else (_OF_PICTURES, "pictures")
    for name in strange:
        if getattr(arguments, name) is not None:
            raise ValueError(f"--{name.replace('_', '-')} is for {what}: leave it out")
    output = Path(arguments.output)
    if output.suffix != ".npz":
        raise ValueError(f"embeddings are written as .npz, but the output is {output}")
    refuse_existing(arguments.output, arguments.force)
    (_embed_pictures if arguments.text is None else _embed_texts)(arguments, output)


def _embed_pictures(arguments: argparse.Namespace, output: Path) -> None:
    import numpy as np

    from jcmspl import embed

    encoder = embed.ImageEncoder(
        arguments.model,
        **{name: getattr(arguments, name) for name in _OF_ENCODER},
        output=arguments.take,
        pooling=arguments.pooling,
        threads=arguments.threads,
    )
    say(arguments, f"{arguments.model}: {encoder.preparation}; {encoder.pooling}")
    keep = output.with_name(f"{output.name}.partial")
    found = embed.images(
        arguments.folder,
        encoder,
        labels=arguments.labels,
        batch_size=arguments.batch_size,
        threads=arguments.threads,
        skip_damaged=bool(arguments.skip_damaged),
        keep=keep,
        restart=arguments.force,
        progress=not arguments.quiet,
    )
    found.save(output, overwrite=arguments.force)
    with contextlib.suppress(OSError):
        keep.unlink()
    if found.reused:
        say(arguments, f"note: {found.reused:,} of them were reused from an earlier run")
    for path, why in found.damaged.items():
        say(arguments, f"note: {shown(path, 200)} was left out: {why}")
    if found.left_out:
        say(arguments, f"note: {len(found.left_out):,} other files were left out: {listed(found.left_out, 3)}")
    n_classes = None if found.labels is None else len(np.unique(found.labels))
    data = {
        "output": str(output),
        "n_samples": len(found.features),
        "n_features": found.features.shape[1],
        "n_classes": n_classes,
        "took": str(encoder.pooling),
        "preparation": str(encoder.preparation),
        "damaged": found.damaged,
    }
    classes = "without classes" if n_classes is None else f"{n_classes:,} classes"
    show(
        arguments,
        data,
        f"wrote {len(found.features):,} samples x {found.features.shape[1]:,} features, {classes}, to {output}",
    )


def _embed_texts(arguments: argparse.Namespace, output: Path) -> None:
    from jcmspl import embed

    encoder = embed.TextEncoder(
        arguments.model,
        arguments.tokenizer,
        pooling=arguments.pooling,
        output=arguments.take,
        max_length=arguments.max_length,
        pad_to=arguments.pad_to,
        threads=arguments.threads,
    )
    say(arguments, f"{arguments.model}: {encoder.pooling}")
    table = embed.texts(
        Path(arguments.text),
        encoder,
        templates=arguments.template or ("{}",),
        batch_size=arguments.batch_size,
        progress=not arguments.quiet,
    )
    embed.save_classes(table, output, overwrite=arguments.force)
    data: dict[str, Any] = {
        "output": str(output),
        "n_classes": table.n_classes,
        "n_attributes": table.n_attributes,
        "took": str(encoder.pooling),
    }
    show(
        arguments,
        data,
        f"wrote vectors of {table.n_classes:,} classes, {table.n_attributes:,} values each, to {output}",
    )


def _size(text: str) -> int | tuple[int, int]:
    parts = text.lower().split("x")
    if len(parts) > 2 or not all(part.isdecimal() and int(part) for part in parts):
        raise argparse.ArgumentTypeError(f"expected pixels, such as 224 or 224x320 (height x width), but got {text!r}")
    return int(parts[0]) if len(parts) == 1 else (int(parts[0]), int(parts[1]))


def _resize(text: str) -> int | str:
    if text != "exact" and not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"expected pixels, such as 256, or `exact`, but got {text!r}")
    return text if text == "exact" else int(text)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers separated by commas, but got {text!r}") from None
