"""Methods with parameters for tests: networks so small that they are trained in a moment."""

_STEPS = {"hidden": 24, "learning_rate": 0.01}
SMALL = {"DEM": {**_STEPS, "max_iter": 100}}


def small(method, **parameters):
    """Return a model of a method, with its defaults unless it is a network."""
    return method(**{**SMALL.get(method.__name__, {}), **parameters})
