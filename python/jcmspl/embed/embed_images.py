"""Features of the pictures in a folder: threads decode pictures while the model runs, and a file can keep the rows."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from jcmspl.data.labels import LabelArray, label_array
from jcmspl.datasets.errors import DatasetError
from jcmspl.datasets.npz import write_arrays
from jcmspl.embed.embed_texts import vectors_of
from jcmspl.embed.image_encoder import ImageEncoder
from jcmspl.embed.image_folder import Pictures, find_pictures, read_picture, reason
from jcmspl.embed.resumable import KEY_BYTES, Kept, KeptInFile, KeptInMemory, Rows
from jcmspl.io.files import open_atomically
from jcmspl.support.arguments import as_count
from jcmspl.support.lazy import needed
from jcmspl.support.machine import usable_cores
from jcmspl.support.progress import Progress
from jcmspl.support.shown import shown

_MOMENT = 0.1  # seconds
_AHEAD = 2  # batches decoded ahead of the model
_MOST_NAMED = 5  # damaged pictures in a message


@dataclass(frozen=True, eq=False)
class ImageEmbeddings:
    """Features of pictures, with their paths and, if they lie in folders of classes, their labels.

    Attributes
    ----------
    features : ndarray of shape (n_pictures, n_features)
        float32.
    paths : ndarray of shape (n_pictures,)
        Relative to the folder, with "/".
    labels : ndarray of shape (n_pictures,) or None
    damaged : dict of str to str
        Paths of pictures that were left out, and the reasons.
    left_out : list of str
        Files without a suffix of pictures or not in the file of labels; links to folders that are visited by another
        path.
    source : str
        The folder.
    reused : int
        The number of pictures embedded by earlier, interrupted calls.
    """

    features: Rows
    paths: LabelArray
    labels: LabelArray | None = None
    damaged: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    source: str = ""
    reused: int = 0

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write an .npz file of features, labels and paths that ``load_arrays`` and ``jcmspl fit`` read."""
        arrays = {"paths": self.paths, "source": np.array(self.source)}
        if self.labels is not None:
            arrays["labels"] = self.labels
        with open_atomically(Path(path), overwrite=overwrite) as file:
            write_arrays(file, self.features.shape, self.features.dtype, [self.features], **arrays)

    def __repr__(self) -> str:
        classes = "" if self.labels is None else f" of {len(np.unique(self.labels))} classes"
        return f"ImageEmbeddings: {len(self.features):,} pictures x {self.features.shape[1]} features{classes}"


def images(
    folder: str | Path,
    model: str | Path | ImageEncoder | Callable[[list[Any]], Any],
    *,
    labels: str | Path | None = None,
    batch_size: int = 32,
    threads: int | None = None,
    skip_damaged: bool = False,
    keep: str | Path | None = None,
    restart: bool = False,
    progress: bool = True,
) -> ImageEmbeddings:
    """Embed the pictures below a folder.

    Parameters
    ----------
    folder : str or Path
        The class of a picture is the name of its folder. If all pictures lie in ``folder`` itself, they have no class.
    model : str, Path, ImageEncoder or callable
        An ONNX file; an :class:`ImageEncoder`, which has options; or any function that takes a list of Pillow images
        (RGB, upright) and returns a vector for each, as an array or a tensor.
    labels : str or Path, optional
        A CSV file of paths, relative to the folder, and classes. Only these pictures are embedded.
    batch_size : int, default 32
        Pictures for each run of the model; a model with a fixed batch size gets that.
    threads : int, optional
        Threads that decode pictures; by default one for each core.
    skip_damaged : bool, default False
        Whether to leave out pictures that cannot be read. Otherwise one error names them after all others are done.
    keep : str or Path, optional
        A file of finished rows, from which the same call continues after an interruption. Pictures that have changed
        are embedded again; another model is refused. The file stays until you remove it.
    restart : bool, default False
        Whether to discard rows of another model in ``keep``.
    progress : bool, default True

    Returns
    -------
    ImageEmbeddings

    Examples
    --------
    >>> from jcmspl import embed
    >>> found = embed.images("birds/", "vision.onnx")  # doctest: +SKIP
    >>> found.save("features.npz")  # doctest: +SKIP
    """
    needed("PIL", "pictures are read by the package pillow", "embed")
    batch_size = as_count(batch_size, "batch_size")
    threads = usable_cores() if threads is None else as_count(threads, "threads")
    pictures = find_pictures(folder, labels)
    if isinstance(model, (str, Path)):
        model = ImageEncoder(model, threads=threads)
    is_encoder = isinstance(model, ImageEncoder)
    if keep is not None and not is_encoder:
        raise ValueError("keep needs an ONNX model, which is identified by its file: it does not work with functions")
    if is_encoder:
        batch_size = model.batch_size or batch_size  # type: ignore[union-attr]
    keys = [_key(pictures, path) for path in pictures.paths]
    with contextlib.ExitStack() as stack:
        kept: Kept = KeptInMemory()
        if keep is not None:
            kept = KeptInFile(Path(keep), model.identity(), restart=restart)  # type: ignore[union-attr]
            stack.callback(kept.close)
        reused = sum(key in kept for key in keys)
        damaged = _embed_missing(pictures, keys, model, kept, batch_size, threads, progress)
        if damaged and not skip_damaged:
            raise DatasetError(_unreadable(damaged, pictures, keep))
        whole = [i for i, path in enumerate(pictures.paths) if path not in damaged]
        if not whole:
            raise DatasetError(f"{_unreadable(damaged, pictures, None)}; none is left")
        features = kept.rows([keys[i] for i in whole])
    found = None if pictures.labels is None else label_array([pictures.labels[i] for i in whole])
    paths = label_array([pictures.paths[i] for i in whole])
    return ImageEmbeddings(features, paths, found, damaged, pictures.left_out, str(folder), reused)


def _embed_missing(
    pictures: Pictures, keys: list[bytes], model: Any, kept: Kept, batch_size: int, threads: int, progress: bool
) -> dict[str, str]:
    """Embed pictures that are not kept yet; return those that could not be read, and the reasons."""
    missing = [i for i, key in enumerate(keys) if key not in kept]
    damaged: dict[str, str] = {}
    parts = [missing[first : first + batch_size] for first in range(0, len(missing), batch_size)]
    done = 0

    def decode(i: int) -> Any:
        picture = read_picture(pictures.folder / pictures.paths[i])
        return model.prepare(picture) if isinstance(model, ImageEncoder) else picture

    try:
        with (
            warnings.catch_warnings(),  # in all threads: this is the main one
            Progress("embedding", len(missing), "pictures", enabled=progress) as bar,
            contextlib.closing(_embedded(parts, decode, pictures.paths, model, threads)) as embedded,
        ):
            warnings.filterwarnings("ignore", module=r"PIL\.")  # about readable pictures
            for part, failed, rows in embedded:
                damaged |= {pictures.paths[i]: shown(reason(error), 200) for i, error in failed.items()}
                if rows is not None:
                    kept.add([keys[i] for i in part if i not in failed], rows)
                done += len(part)
                bar.update(done)
    except KeyboardInterrupt:
        if isinstance(kept, KeptInFile) and len(kept):
            count = sum(key in kept for key in keys)
            raise KeyboardInterrupt(
                f"{count:,} of {len(keys):,} pictures are done and kept in {kept.path}: the same command continues "
                "from there"
            ) from None
        raise
    return {path: damaged[path] for path in pictures.paths if path in damaged}


def _embedded(
    parts: Sequence[list[int]], decode: Callable[[int], Any], paths: Sequence[str], model: Any, threads: int
) -> Generator[tuple[list[int], dict[int, Exception], Rows | None], None, None]:
    """Yield batches, their unreadable pictures, and the rows of the rest; batches are decoded ahead of the model."""
    is_encoder = isinstance(model, ImageEncoder)
    decoders, runner = ThreadPoolExecutor(threads), ThreadPoolExecutor(1)
    ahead: deque[tuple[list[int], list[Future[Any]]]] = deque()
    running: tuple[list[int], dict[int, Exception], Future[Rows] | None] | None = None
    rest, is_done = iter(parts), False
    try:
        runner.submit(
            int
        ).result()  # start the thread now: an interrupt during its start must not leave a run unstopped
        while True:
            while len(ahead) < _AHEAD and (part := next(rest, None)) is not None:
                ahead.append((part, [decoders.submit(decode, i) for i in part]))
            now = None
            if ahead:
                part, futures = ahead.popleft()
                pictures, failed = _collected(part, futures)
                run = runner.submit if is_encoder else _at_once
                names = [shown(paths[i], 200) for i in part if i not in failed]
                now = (part, failed, run(_rows, model, pictures, names) if pictures else None)
            if running is not None:
                part, failed, future = running
                yield part, failed, None if future is None else _result(future)
            if now is None:
                is_done = True
                return
            running = now
    finally:
        if is_encoder and not is_done:
            _end(runner, model)
        runner.shutdown()
        decoders.shutdown(cancel_futures=True)


def _result(future: Future[Any]) -> Any:
    """Wait for a result in short steps: an interrupt at the start of a wait is only noticed after it."""
    while not future.done():
        wait([future], _MOMENT)
    return future.result()


def _end(runner: ThreadPoolExecutor, model: ImageEncoder) -> None:
    """Stop the run of the model, and wait for its end."""
    ending = threading.Thread(target=runner.shutdown, kwargs={"cancel_futures": True})
    ending.start()
    ending.join(_MOMENT)
    while ending.is_alive():  # a run that is just starting is stopped the next time
        model.stop()
        ending.join(_MOMENT)


def _collected(part: list[int], futures: list[Future[Any]]) -> tuple[list[Any], dict[int, Exception]]:
    pictures, failed = [], {}
    for i, future in zip(part, futures, strict=True):
        try:
            pictures.append(_result(future))
        except MemoryError:
            raise
        except Exception as error:  # files may hold anything: decoders raise any error
            failed[i] = error
    return pictures, failed


def _at_once(function: Callable[..., Rows], *arguments: Any) -> Future[Rows]:
    """Call the user's function in the calling thread, on which its settings may depend."""
    future: Future[Rows] = Future()
    future.set_result(function(*arguments))
    return future


def _rows(model: Any, pictures: list[Any], names: list[str]) -> Rows:
    return vectors_of(model(pictures), names).astype(np.float32, copy=False)


def _key(pictures: Pictures, path: str) -> bytes:
    """Return the key of a picture: its path, size and times; its ctime cannot be set back."""
    try:
        about = (pictures.folder / path).stat()
        said = json.dumps([path, about.st_size, about.st_mtime_ns, about.st_ctime_ns])
    except OSError:  # a broken link: reported with unreadable pictures
        said = json.dumps([path])
    return hashlib.blake2b(said.encode(), digest_size=KEY_BYTES).digest()


def _unreadable(damaged: dict[str, str], pictures: Pictures, keep: str | Path | None) -> str:
    some = "; ".join(f"{shown(path, 200)}: {why}" for path, why in list(damaged.items())[:_MOST_NAMED])
    more = f"; and {len(damaged) - _MOST_NAMED:,} more" if len(damaged) > _MOST_NAMED else ""
    kept = f" (finished pictures are kept in {keep})" if keep is not None and len(damaged) < len(pictures.paths) else ""
    return (
        f"{len(damaged):,} of {len(pictures.paths):,} pictures below {pictures.folder} cannot be read ({some}{more}): "
        f"repair or remove them, or leave them out with --skip-damaged (skip_damaged=True){kept}"
    )
