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

from jcmspl.datasets.arrays import Features, load_arrays, load_features
from jcmspl.datasets.dataset import PARTS, Dataset
from jcmspl.datasets.digits import load_digits
from jcmspl.datasets.errors import DatasetError
from jcmspl.datasets.loading import LAYOUTS, load_dataset
from jcmspl.datasets.matlab_layouts import load_sae, load_xlsa17, save_xlsa17
from jcmspl.datasets.npz import load_npz, save_npz
from jcmspl.datasets.rows import ShardedRows, open_rows, read_labels
from jcmspl.datasets.splits import make_split
from jcmspl.datasets.synthetic import make_zsl

__all__ = [
    "LAYOUTS",
    "PARTS",
    "Dataset",
    "DatasetError",
    "Features",
    "ShardedRows",
    "load_arrays",
    "load_dataset",
    "load_digits",
    "load_features",
    "load_npz",
    "load_sae",
    "load_xlsa17",
    "make_split",
    "make_zsl",
    "open_rows",
    "read_labels",
    "save_npz",
    "save_xlsa17",
]
