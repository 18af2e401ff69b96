import os
from pathlib import Path

import pytest
from hypothesis import settings

# The problems here are small: threads would only wait for each other, for minutes on a busy machine. What threads
# change is tested on purpose, in test_solver_use.py.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A slow machine is not a bug, and a run that is to be trusted must be repeatable.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real benchmark data, which is not part of the repository."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("JCMSPL_DATA", default))
    if not folder.is_dir():
        pytest.skip("no benchmark data: set JCMSPL_DATA to the folder that holds cub/")
    return folder
