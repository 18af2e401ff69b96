"""Relations that a method does not promise, and why: nothing else is exempt."""


def _always(model):
    return True


def _kernel(model):
    return model.class_kernel != "linear"


def _logistic(model):
    return model.posterior == "logistic"


_RANKERS = ("ALE", "DeViSE", "LATEM", "SJE")

# Methods, and of which of their parameters that holds.
EXEMPT = {
    # steps are taken sample by sample, in an order that follows from coordinates; a weight multiplies a step
    "order_of_features": {
        **dict.fromkeys(_RANKERS, _always),
        "COSMO": _logistic,  # so are halves chosen, of which one is left out
    },
    "repetition_is_weight": {
        **dict.fromkeys(_RANKERS, _always),
        "COSMO": _always,  # half of the samples are left out at a time, of one that is repeated perhaps some
    },
    "rotation": {
        **dict.fromkeys(_RANKERS, _always),
        "GFZSL": _always,  # a variance for each axis
        "EXEM": lambda model: model.distance == "standardised",  # likewise
        "SSE": _always,  # features are compared with thresholds
        "COSMO": _logistic,  # as of order_of_features
    },
    # random numbers for each attribute; columns are updated one after the other
    "order_of_attributes": dict.fromkeys(("BZSL", "LATEM", "LAD"), _always),
    "names_and_order_of_classes": {
        # random numbers for each class, or classes drawn at random; codes of numbered classes are the start
        "JCMSPL": lambda model: model.init == "random" or model.n_concepts is not None,
        "LESD": lambda model: model.class_share < 1,
        "AAW": _always,
        "COSMO": _always,
        "CAPD": _always,  # of mixtures that come as near, one is taken
        # a class kernel has dimensions of its own, whose signs are not settled, and the method looks at each of them
        **dict.fromkeys(("BZSL", "DAP", "IAP", "LATEM", "SCoRe"), _kernel),
    },
    # the chain ends in candidates; a code is to be clear among candidates; experts are mixed with a uniform answer
    "candidates_do_not_matter_to_each_other": {
        "AMP": _always,
        "AAW": lambda model: model.prediction == "aware",
        "COSMO": _always,
    },
}


def promised(relation, model):
    """Whether a method promises a relation, with the parameters that it has."""
    exempt = EXEMPT.get(relation, {}).get(type(model).__name__)
    return exempt is None or not exempt(model)
