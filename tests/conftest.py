import os
from copy import deepcopy
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


@pytest.fixture(autouse=True, scope="module")
def _random_numbers(request):
    """The generator ``RNG`` of a module of tests as it is before the first of them."""
    return deepcopy(getattr(request.module, "RNG", None))


@pytest.fixture(autouse=True)
def _same_random_numbers_in_any_order(request, _random_numbers):
    """A test draws the same numbers from the ``RNG`` of its module, whatever tests ran before it."""
    if _random_numbers is not None:
        request.module.RNG = deepcopy(_random_numbers)


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real benchmark data, which is not part of the repository."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("JCMSPL_DATA", default))
    if not folder.is_dir():
        pytest.skip("no benchmark data: set JCMSPL_DATA to the folder that holds cub/")
    return folder


# support/command.py imports NumPy, which must not come before the number of threads is set.


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """The file of a model of the digits, for the command line."""
    from support.command import fit_digits

    return fit_digits(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def own(tmp_path_factory):
    """A folder of data of one's own, for the command line."""
    from support.command import write_own_data

    return write_own_data(tmp_path_factory.mktemp("own"))
