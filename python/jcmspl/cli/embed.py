"""Make features of the pictures in a folder, or class vectors of descriptions, with an ONNX model of your own.

The class of a picture is the folder that it lies in. How the model wants pictures is read from the model, from a
preprocessor_config.json beside it, or given by options. What is done is kept beside the output until all of it is: the
same command goes on after Ctrl-C. Nothing is downloaded.
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
  jcmspl embed --text descriptions.csv --model text.onnx --tokenizer tokenizer.json -o classes.npz
  jcmspl fit features.npz --classes classes.npz -o model.safetensors       what they are for
  jcmspl embed birds/ --model vision.onnx --size 224 --normalise imagenet -o features.npz
                                                           if nothing beside the model tells how it wants pictures
  jcmspl embed --text names.txt --template "a photo of a {}" --template "a drawing of a {}" --model text.onnx \\
         -o classes.npz                                    several templates are averaged
"""
LOADS = ("jcmspl.embed",)

_OF_ENCODER = ("size", "resize", "resample", "layout", "normalise", "mean", "std", "scale", "config")
_OF_PICTURES = (*_OF_ENCODER, "labels", "skip_damaged")
_OF_TEXTS = ("tokenizer", "template", "max_length", "pad_to")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="pictures, in a folder for each class")
    parser.add_argument("--text", metavar="FILE", help="descriptions: a CSV of names and texts, or names, one a line")
    parser.add_argument("--model", metavar="FILE", required=True, help="the encoder, an ONNX file")
    parser.add_argument(
        "--pooling",
        choices=POOLINGS,
        default="auto",
        help="how one vector is made of many: mean, cls (the first), pooled (the model has done it), auto (default)",
    )
    parser.add_argument("--take", metavar="NAME", help="which output of the model to take (default: the embedding)")
    parser.add_argument("--batch-size", metavar="N", type=int, default=32, help="for each run (default: 32)")
    parser.add_argument("--threads", metavar="N", type=int, help="default: the cores of this machine")
    pictures = parser.add_argument_group("pictures")
    pictures.add_argument(
        "--labels", metavar="FILE", help="a CSV of paths below FOLDER and classes: only these are taken"
    )
    pictures.add_argument(
        "--size", metavar="N", type=_size, help="in pixels, in the end: 224, or height x width: 224x320"
    )
    pictures.add_argument(
        "--resize", metavar="N", type=_resize, help="the shorter side before the middle is cut out; or `exact`: no cut"
    )
    pictures.add_argument("--resample", choices=RESAMPLES, help="how pictures are resized (default: bicubic)")
    pictures.add_argument("--layout", choices=PICTURE_LAYOUTS, help="where the model has the channels")
    pictures.add_argument(
        "--normalise",
        choices=PICTURE_NORMALISATIONS,
        help="values as CLIP or ImageNet have them, half: -1 to 1, none: 0 to 1, raw: 0 to 255",
    )
    pictures.add_argument("--mean", metavar="R,G,B", type=_numbers, help="what is subtracted from values of 0 to 1")
    pictures.add_argument("--std", metavar="R,G,B", type=_numbers, help="what they are divided by then")
    pictures.add_argument(
        "--scale", metavar="X", type=float, help="what values are multiplied by first (default: 1/255)"
    )
    pictures.add_argument("--config", metavar="FILE", help="a preprocessor_config.json that is not beside the model")
    pictures.add_argument(
        "--skip-damaged", action="store_true", default=None, help="leave out pictures that cannot be read"
    )
    texts = parser.add_argument_group("descriptions")
    texts.add_argument("--tokenizer", metavar="FILE", help="tokenizer.json (default: the one beside the model)")
    texts.add_argument(
        "--template", metavar="TEXT", action="append", help='around each text, as "a photo of a {}" (may be repeated)'
    )
    texts.add_argument("--max-length", metavar="N", type=int, help="the most tokens of a text")
    texts.add_argument(
        "--pad-to", metavar="N", type=int, help="fill up each text to so many tokens, as for SigLIP (64)"
    )
    add_output(parser, "an .npz file of features, or of class vectors", required=True)


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
        say(arguments, f"note: {found.reused:,} of them had been embedded before, and were not again")
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
    classes = "no classes, to be named" if n_classes is None else f"{n_classes:,} classes"
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
        raise argparse.ArgumentTypeError(f"it takes pixels, such as 224 or 224x320 (height x width), but is {text!r}")
    return int(parts[0]) if len(parts) == 1 else (int(parts[0]), int(parts[1]))


def _resize(text: str) -> int | str:
    if text != "exact" and not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"it takes pixels, such as 256, or `exact`, but is {text!r}")
    return text if text == "exact" else int(text)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"it takes numbers with commas between, but is {text!r}") from None
