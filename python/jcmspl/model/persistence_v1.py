"""Model files of format version 1: JCMSPL and the linear peers, whose arrays had fixed names."""

from __future__ import annotations

import numpy as np

from jcmspl.core.solver import STATIONARITY
from jcmspl.io.archive import Archive

#: The arrays of a method in such a file.
ARRAYS = ("visual_projection", "semantic_projection", "objective_terms", "init")


def upgraded(archive: Archive) -> Archive:
    """Return the archive as version 2 has it."""
    content, arrays = dict(archive.content), dict(archive.arrays)
    for name in ("visual_projection", "semantic_projection", "objective_terms"):
        if name in arrays:
            arrays[f"fitted.{name}"] = arrays.pop(name)
    parameters = dict(content["parameters"])
    if "init" in parameters and parameters["init"] is None:
        del parameters["init"]
        arrays["parameter.init"] = arrays.pop("init")
    if "stationarity" in content:  # the result of iterations
        blocks = [float(content["stationarity"][name]) for name in STATIONARITY]
        arrays["fitted.stationarity"] = np.array(blocks)
        arrays["fitted.converged"] = np.array(float(bool(content["converged"])))
    return Archive(2, {**content, "parameters": parameters}, arrays)
