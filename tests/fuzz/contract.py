"""Random settings of every method against the relations that must hold between their answers."""

import re
import traceback
import warnings

from fuzz.promises import promised
from fuzz.relations import OF_FITS, OF_ONE_MODEL, Fitted, dask_is_memory
from fuzz.settings import drawn, method_of
from fuzz.tolerance import Wrong

OUTCOMES = ("passed", "ill-posed", "refused", "failed")
_DASK_EVERY = 50  # settings: dask is slow
# What a method may answer to settings that it cannot be fitted to.
_REFUSALS = (
    "penalty must be above 0",
    "cannot be made binary",
    "mixes the sources of class vectors",
    "can be infinite only where class_match is",
)


def tried(seed, number, dask=None):
    """Return the outcome of a setting, and a line for each relation that does not hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        setting = drawn(seed, number)
        try:
            one = Fitted(setting)
        except Wrong as error:
            return "failed", [f"{error}"]
        except (ValueError, TypeError) as error:
            text = str(error)
            known = any(re.search(pattern, text) for pattern in _REFUSALS)
            return ("refused", [text]) if known else ("failed", [traceback.format_exc()])
        except Exception:
            return "failed", [traceback.format_exc()]
        relations = list(OF_ONE_MODEL)
        if number % _DASK_EVERY == 0 if dask is None else dask:
            relations.append(dask_is_memory)
        wrong = list(_broken(relations, one))
        try:
            settled = one.to_the_end()
            # A failure is looked at again: more closely, and after all iterations, which may end where few do not.
            # L-BFGS starts anew where rounding spoils its matrix, more often in some orders of sums than in others, and
            # goes on to another place (SSE with a sample_margin of 5e6).
            for fitted in (settled, settled.more_closely(), one.more_closely()):
                posed = fitted.allowed is not None
                of_fits = list(_broken(OF_FITS, fitted)) if posed else []
                if not of_fits:
                    break
        except Exception:
            return "failed", [*wrong, f"another fit: {traceback.format_exc()}"]
        wrong += of_fits
        return ("failed" if wrong else "passed" if posed else "ill-posed"), wrong


def _broken(relations, one):
    for relation in relations:
        if not promised(relation.__name__, one.setting):
            continue
        try:
            relation(one)
        except Wrong as error:
            yield f"{relation.__name__}: {error}"
        except Exception:
            yield f"{relation.__name__}: {traceback.format_exc()}"


def report(seed, number, wrong):
    """Return how to see again what is wrong with a setting."""
    lines = "\n  ".join(wrong)
    return f"--contract --seed {seed} --first {number} --n 1\n  {drawn(seed, number)}\n  {lines}"


def settings_tried(seed, numbers, methods=None):
    """Try settings, those of some methods alone if these are named; give number, method, outcome and a report."""
    for number in numbers:
        name = method_of(number)
        if not methods or name in methods:
            outcome, wrong = tried(seed, number)
            yield number, name, outcome, report(seed, number, wrong) if wrong else ""
