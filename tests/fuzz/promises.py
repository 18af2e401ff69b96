"""Relations that a method does not promise, and why: nothing else is exempt."""


def _always(setting):
    return True


def _kernel(setting):
    return setting.model.class_kernel != "linear"


def _logistic(setting):
    return setting.model.posterior == "logistic"


def _ties(setting):
    """Whether class vectors of length one are as far from another for certain, whatever their last digits are."""
    vectors = setting.table.vectors
    alike = vectors.shape[1] == 1 or not vectors.any(axis=1).all()
    return alike and "sample_l2" in setting.model.class_normalisation


def _beside_saddle(setting):
    """Whether all classes may weigh the same: noise for each class then says where the descent goes."""
    counts = {setting.y.count(label) for label in setting.seen}
    return len(counts) == 1 or setting.model.class_weight == "balanced"


def _flat(setting):
    """Whether posteriors are equal but for their last digits, so that centred class vectors cancel out."""
    return setting.model.posterior_temperature > 1e4


_RANKERS = ("ALE", "DeViSE", "LATEM", "SJE")
_NETWORKS = ("CADAVAE", "CLSWGAN", "CNZSL", "CVA", "DEM", "FVAEGAN", "GMMN", "VZSL")

# Methods, and of which of their settings that holds.
EXEMPT = {
    "samples_are_named_one_by_one": {"ConSE": _flat},
    # steps are taken sample by sample, in an order that follows from coordinates; a weight multiplies a step
    "order_of_features": {
        **dict.fromkeys((*_RANKERS, *_NETWORKS), _always),  # first weights are random numbers for each feature
        "COSMO": _logistic,  # so are halves chosen, of which one is left out
    },
    "repetition_is_weight": {
        **dict.fromkeys((*_RANKERS, *_NETWORKS), _always),  # an epoch is as many samples as there are rows
        "COSMO": _always,  # half of the samples are left out at a time, of one that is repeated perhaps some
    },
    "rotation": {
        **dict.fromkeys((*_RANKERS, *_NETWORKS), _always),
        "GFZSL": _always,  # a variance for each axis
        "EXEM": lambda setting: setting.model.distance == "standardised",  # likewise
        "SSE": _always,  # features are compared with thresholds
        "COSMO": _logistic,  # as of order_of_features
    },
    # random numbers for each attribute; columns are updated one after the other
    "order_of_attributes": dict.fromkeys(("BZSL", "LATEM", "LAD", *_NETWORKS), _always),
    "names_and_order_of_classes": {
        # random numbers for each class, or classes drawn at random; codes of numbered classes are the start
        "JCMSPL": lambda setting: (
            setting.model.init == "random" or setting.model.n_concepts is not None or _beside_saddle(setting)
        ),
        "LESD": lambda setting: setting.model.class_share < 1,
        "AAW": _always,
        "COSMO": _always,
        "CAPD": _always,  # of mixtures that come as near, one is taken
        **dict.fromkeys(("AMP", "SSVoc"), _ties),  # of classes that are as near, the first are neighbours
        # a class kernel has dimensions of its own, whose signs are not settled, and the method looks at each of them
        **dict.fromkeys(("BZSL", "DAP", "IAP", "LATEM", "SCoRe", *_NETWORKS), _kernel),
    },
    # the chain ends in candidates; a code is to be clear among candidates; experts are mixed with a uniform answer
    "candidates_do_not_matter_to_each_other": {
        "AMP": _always,
        "AAW": lambda setting: setting.model.prediction == "aware",
        **dict.fromkeys(("CLSWGAN", "CVA", "FVAEGAN", "GMMN"), lambda setting: setting.model.head == "softmax"),
        "COSMO": _always,
    },
}


def promised(relation, setting):
    """Whether the method of a setting promises a relation there."""
    exempt = EXEMPT.get(relation, {}).get(setting.name)
    return exempt is None or not exempt(setting)
