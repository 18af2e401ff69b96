"""Data sets for zero-shot learning: benchmark files, your own files, and data that needs no files.

=========================  =====================================================================
:class:`Dataset`           samples, labels, class vectors and parts, in memory or read on demand
:func:`load_dataset`       any data set by its path
:func:`load_xlsa17`        the layout of the "xlsa17" benchmark files
:func:`load_sae`           the layout of the SAE demonstration files
:func:`load_arrays`        your own features, labels and class vectors
:func:`load_features`      samples to classify, without labels
:func:`load_npz`           the project's own file
:func:`open_rows`          features in many files, zarr arrays or remote files, read on demand
:func:`read_labels`        the labels of such features
:func:`load_digits`        handwritten digits described by their strokes, built in
:func:`make_zsl`           synthetic data of any size
:func:`make_split`         parts for training, validation and testing
:func:`save_npz`           writes the project's own file
:func:`save_xlsa17`        writes the layout of the "xlsa17" benchmark files
=========================  =====================================================================
"""

from typing import TYPE_CHECKING

from jcmspl.support.lazy import attach

_MODULES = {
    "arrays": ("Features", "load_arrays", "load_features"),
    "dataset": ("PARTS", "Dataset"),
    "digits": ("load_digits",),
    "errors": ("DatasetError",),
    "loading": ("LAYOUTS", "load_dataset"),
    "matlab_layouts": ("load_sae", "load_xlsa17", "save_xlsa17"),
    "npz": ("load_npz", "save_npz"),
    "rows": ("ShardedRows", "open_rows", "read_labels"),
    "splits": ("make_split",),
    "synthetic": ("make_zsl",),
}
_HOMES = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}
__all__ = sorted(_HOMES)

if TYPE_CHECKING:
    from jcmspl.datasets.arrays import Features as Features
    from jcmspl.datasets.arrays import load_arrays as load_arrays
    from jcmspl.datasets.arrays import load_features as load_features
    from jcmspl.datasets.dataset import PARTS as PARTS
    from jcmspl.datasets.dataset import Dataset as Dataset
    from jcmspl.datasets.digits import load_digits as load_digits
    from jcmspl.datasets.errors import DatasetError as DatasetError
    from jcmspl.datasets.loading import LAYOUTS as LAYOUTS
    from jcmspl.datasets.loading import load_dataset as load_dataset
    from jcmspl.datasets.matlab_layouts import load_sae as load_sae
    from jcmspl.datasets.matlab_layouts import load_xlsa17 as load_xlsa17
    from jcmspl.datasets.matlab_layouts import save_xlsa17 as save_xlsa17
    from jcmspl.datasets.npz import load_npz as load_npz
    from jcmspl.datasets.npz import save_npz as save_npz
    from jcmspl.datasets.rows import ShardedRows as ShardedRows
    from jcmspl.datasets.rows import open_rows as open_rows
    from jcmspl.datasets.rows import read_labels as read_labels
    from jcmspl.datasets.splits import make_split as make_split
    from jcmspl.datasets.synthetic import make_zsl as make_zsl
else:  # models need splits alone, and are imported more often than files are read
    __getattr__, __dir__ = attach(__name__, _HOMES)
