"""Values that users choose from; listing them here loads no other module."""

#: Spaces in which samples and classes are compared.
SPACES = ("visual", "semantic", "concept")

#: Ways to compare them.
METRICS = ("cosine", "euclidean", "dot")

#: Ways to recognise by generated samples.
HEADS = ("cosine", "lda", "softmax")

#: The ablations of the paper: settings of JCMSPL.
ABLATIONS = ("JCMSPL1", "JCMSPL0", "IPL")

#: Groups of methods: those without a neural network, those of them whose scores are one linear layer, and networks.
METHOD_GROUPS = ("classical", "linear", "networks")

#: Normalisations of columns: features, or entries of class vectors.
COLUMN_STEPS = ("none", "center", "feature_l2", "zscore", "center_unit", "zscore_unit")

#: Normalisations of samples or class vectors. Rows are always scaled before columns.
NORMALISATIONS = (
    "none",
    "sample_l2",
    *COLUMN_STEPS[1:],
    *(f"sample_l2+{step}" for step in COLUMN_STEPS[1:]),
)

#: Normalisations of samples: these, or whitening by the scatter within classes.
FEATURE_NORMALISATIONS = (*NORMALISATIONS, "center+whiten", "sample_l2+center+whiten")

#: Steps before a normalisation of samples: signed roots of values, always or where no value is negative.
POWERS = ("power", "auto_power")

#: Kernels of class vectors.
KERNELS = ("linear", "poly2", "rbf")

#: The parts of a data set, in the order of listings.
PARTS = ("train", "val", "test_seen", "test_unseen")

#: Layouts of data files.
LAYOUTS = ("xlsa17", "sae", "npz", "arrays", "digits")

#: Whether a CSV file starts with a header: detected, yes, no.
HEADERS = ("auto", "yes", "no")

#: Protocols of evaluation: on classes without training samples, or after training on a few samples of half the classes.
PROTOCOLS = ("zero-shot", "base-to-new")

#: The half of the classes with labelled samples in base to new: the first, a random one, or the data set's own.
BASES = ("first", "random", "own")

#: Groups of candidate classes.
GROUPS = ("seen", "unseen", "all")

#: Suffixes of picture files.
PICTURES = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".avif"),
    *(".ppm", ".pgm", ".pbm", ".pnm", ".jp2", ".j2k", ".tga"),
)

#: Ways to reduce the output of an encoder to one vector per picture or text.
POOLINGS = ("auto", "mean", "cls", "pooled")

#: Filters for resizing pictures, in the order of Pillow's and Hugging Face's numbers.
RESAMPLES = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")

#: Scales, means and standard deviations of pixel values, by the encoders trained with them.
PICTURE_NORMALISATIONS = ("clip", "imagenet", "half", "none", "raw")

#: Order of the axes of a picture.
PICTURE_LAYOUTS = ("nchw", "nhwc")

#: Replacements of missing values.
IMPUTATIONS = ("mean", "zero")

#: Names of the delimiters of CSV cells.
DELIMITERS = ("comma", "semicolon", "tab", "pipe", "space")
