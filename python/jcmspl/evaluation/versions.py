"""The versions of what was at work."""

from __future__ import annotations

import platform

import numpy as np
import scipy
import sklearn

from jcmspl.support.version import __version__


def versions() -> dict[str, str]:
    """Return the versions of this package and of those that its results depend on."""
    return {
        "jcmspl": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
