"""Methods with parameters for tests: networks so small that they are trained in a moment."""

_SIZE = {"hidden": 64, "learning_rate": 0.003}
SMALL = {
    "DEM": {**_SIZE, "max_iter": 100},
    "CNZSL": {**_SIZE, "max_iter": 30, "feature_normalisation": "center"},
    "GMMN": {**_SIZE, "max_iter": 15},
    "CVA": {**_SIZE, "max_iter": 10, "dropout": 0.0},
    "CLSWGAN": {**_SIZE, "max_iter": 15, "classifier_weight": 10.0},
    "FVAEGAN": {**_SIZE, "max_iter": 10, "critic_weight": 0.1},
    "VZSL": {**_SIZE, "max_iter": 15, "noise_size": 8},
    "CADAVAE": {**_SIZE, "learning_rate": 0.01, "max_iter": 20, "latent_size": 8, "batch_size": 100},
}


def small(method, **parameters):
    """Return a model of a method, with its defaults unless it is a network."""
    return method(**{**SMALL.get(method.__name__, {}), **parameters})
