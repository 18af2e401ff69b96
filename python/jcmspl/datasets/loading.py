"""load_dataset: a data set of any layout, which is detected from its path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jcmspl.datasets.arrays import SUFFIXES, load_arrays
from jcmspl.datasets.database import is_database
from jcmspl.datasets.dataset import Dataset
from jcmspl.datasets.digits import load_digits
from jcmspl.datasets.errors import DatasetError, refuse_pictures
from jcmspl.datasets.matlab import open_mat
from jcmspl.datasets.matlab_layouts import SPLITS, load_sae, load_xlsa17
from jcmspl.datasets.npz import NpzReader, load_npz
from jcmspl.datasets.rows import EMBEDDINGS, holds_rows
from jcmspl.io.files import Address, matches, missing, place_of, require_file
from jcmspl.support.arguments import one_of
from jcmspl.support.names import LAYOUTS as LAYOUTS
from jcmspl.support.shown import listed

_ACCEPTED = (
    f"a folder with {SPLITS} and a .mat file of features (xlsa17), a folder with features.* (one file or many) and "
    "classes.* or a table such as .parquet (arrays), a .mat file with X_tr and X_te (sae), an .npz file of save_npz or "
    "with X, y and S, or 'digits'"
)


def load_dataset(path: str | Path, layout: str | None = None, **options: Any) -> Dataset:
    """Read a data set of any layout.

    Parameters
    ----------
    path : str or Path
        A folder or file; ``"digits"`` is the built-in data set.
    layout : {"xlsa17", "sae", "npz", "arrays", "digits"}, optional
        By default it is detected. "arrays" is a file with a row for each sample (``.parquet``, ``.jsonl``, ...; give
        ``class_vectors``), or a folder with ``features`` (.npy, .npz, .csv, .parquet or .zarr; or many
        files: ``features-0.npy`` and so on, a folder ``features``, or ``img_emb`` with ``metadata``), ``labels`` (.npy,
        .txt or .csv; not needed if the features include them), ``classes`` (.csv, .npy or .npz) and optionally
        ``split`` (.csv or .txt): see :func:`load_arrays`.
    **options
        Options of the loader of that layout, for example ``attributes="original_att"`` for xlsa17.

    Examples
    --------
    >>> from jcmspl.datasets import load_dataset
    >>> print(load_dataset("digits").describe())
    digits: 1,797 samples x 64 features (float64), 10 classes x 24 attributes
      train              724 samples of     5 classes
      val                282 samples of     2 classes
      test_seen          252 samples of     7 classes
      test_unseen        539 samples of     3 classes
      unseen classes: 'two', 'four', 'six'
      source: scikit-learn's handwritten digits (UCI, 8 x 8 pixels), described by strokes
    """
    if layout is not None:
        one_of(layout, "layout", LAYOUTS)
    if layout == "digits" or (layout is None and str(path) == "digits"):
        return load_digits(**options)
    place = Path(path)
    if isinstance(place_of(path), Address):
        raise DatasetError(
            f"{path} is an address, but a data set must be a local folder or file: give the address as features and a "
            "file of class vectors to load_arrays (--classes FILE)"
        )
    if is_database(path) or _is_own_npz(place, options):
        return _load_folder(place, **options)
    if not place.exists():
        raise missing(place, "digits")
    if not place.is_dir():
        require_file(place)
    layout = layout or _layout_of(place)
    if layout == "xlsa17" and place.is_file():
        features = {} if place.name == SPLITS else {"features": place.name}
        return load_xlsa17(place.parent, **features, **options)
    loaders: dict[str, Callable[..., Dataset]]
    loaders = {"xlsa17": load_xlsa17, "sae": load_sae, "npz": load_npz, "arrays": _load_folder}
    return loaders[layout](place, **options)


def _is_own_npz(place: Path, options: dict[str, Any]) -> bool:
    """Whether a .npz file has arrays of any name: `class_vectors` then is a file or a table, not an array in it."""
    if place.suffix != ".npz":
        return False
    given = options.get("class_vectors")
    is_apart = given is not None and (not isinstance(given, (str, Sequence)) or Path(str(given)).is_file())
    return is_apart or "array" in options


def is_data_set(path: str | Path) -> bool:
    """Whether a path stands for a data set with class vectors, not only for features."""
    folder = Path(path)
    if not folder.is_dir():
        return str(path) == "digits"
    return (folder / SPLITS).exists() or bool(_find(folder, "classes", SUFFIXES["classes"]))


def is_without_classes(path: str | Path) -> bool:
    """Whether a path stands for samples alone: a table, a file of features or many, and no class vectors."""
    place = Path(path)
    if is_database(path) or (holds_rows(path) and not is_data_set(path)):
        return True
    if not place.is_file() or place.suffix not in SUFFIXES["features"]:
        return False
    return place.suffix != ".npz" or not {"class_vectors", "S"} & set(NpzReader(place).names())


def is_folder_of_arrays(folder: Path) -> bool:
    """Whether a folder has the layout "arrays"."""
    return not (folder / SPLITS).exists() and bool(_find(folder, "classes", SUFFIXES["classes"]))


def _layout_of(place: Path) -> str:
    if place.is_dir():
        if (place / SPLITS).exists():
            return "xlsa17"
        if _find_features(place) and _find(place, "classes", SUFFIXES["classes"]):
            return "arrays"
        refuse_pictures(place)
        found = listed(sorted(item.name for item in place.iterdir()))
        raise DatasetError(f"{place} has no known layout: it holds {found or 'nothing'}; expected is {_ACCEPTED}")
    if place.suffix == ".npz":
        return "npz"
    if place.suffix in SUFFIXES["features"]:
        return "arrays"
    if place.suffix != ".mat":
        refuse_pictures(place)
        raise DatasetError(f"{place} has no known layout: expected is {_ACCEPTED}")
    variables = open_mat(place).names()
    if "X_tr" in variables:
        return "sae"
    if place.name == SPLITS or ("features" in variables and (place.parent / SPLITS).exists()):
        return "xlsa17"
    found = listed(sorted(variables)) or "nothing"
    raise DatasetError(f"{place} has no known layout: it holds the variables {found}; expected is {_ACCEPTED}")


def _find(folder: Path, stem: str, suffixes: tuple[str, ...]) -> Path | None:
    found = [folder / (stem + suffix) for suffix in suffixes if (folder / (stem + suffix)).is_file()]
    if len(found) > 1:
        raise DatasetError(f"{folder} has both {found[0].name} and {found[1].name}: which of them is meant?")
    return found[0] if found else None


def _find_features(folder: Path) -> Path | None:
    """Return the file of features, or the folder or pattern for :func:`open_rows`."""
    if (file := _find(folder, "features", SUFFIXES["features"])) is not None:
        return file
    if (folder / EMBEDDINGS).is_dir():
        return folder
    shards = (folder / "features.zarr", folder / "features", folder / "features[-_]*.npy")
    return next((place for place in shards if place.is_dir() or matches(place)), None)


def _load_folder(folder: Path, **options: Any) -> Dataset:
    if not folder.is_dir():
        if folder.suffix == ".mat":
            raise NotADirectoryError(f"{folder} is a file: the layout 'arrays' is a folder, or a table of samples")
        if options.get("class_vectors") is None:
            raise DatasetError(
                f"{folder} holds samples alone: give the class vectors as well (class_vectors, --classes)"
            )
        return load_arrays(folder, **options)
    files = {stem: _find(folder, stem, suffixes) for stem, suffixes in SUFFIXES.items() if stem != "features"}
    files["features"] = _find_features(folder)
    for stem in ("features", "classes"):
        if files[stem] is None:
            raise FileNotFoundError(f"{folder} has no file {stem} ({', '.join(SUFFIXES[stem])})")
    defaults = {"class_vectors": files["classes"], "split": files["split"], "name": folder.resolve().name}
    return load_arrays(files["features"], **{"labels": files["labels"], **defaults, **options})
