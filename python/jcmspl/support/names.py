"""Names that users choose from, where whoever lists them need not load what does the work."""

#: Where samples and classes are compared.
SPACES = ("visual", "semantic", "concept")

#: How they are compared.
METRICS = ("cosine", "euclidean", "dot")

#: The ablations of the paper, settings of JCMSPL with names of their own.
ABLATIONS = ("JCMSPL1", "JCMSPL0", "IPL")

#: Groups of methods that are compared: those that make no samples of unseen classes by a neural network, which are all
#: so far, and those whose scores are one linear layer.
METHOD_GROUPS = ("classical", "linear")

#: What is done to each feature, or entry of class vectors.
COLUMN_STEPS = ("none", "center", "feature_l2", "zscore", "center_unit", "zscore_unit")

#: What is done to samples or class vectors first. Rows are always scaled before columns are.
NORMALISATIONS = (
    "none",
    "sample_l2",
    *COLUMN_STEPS[1:],
    *(f"sample_l2+{step}" for step in COLUMN_STEPS[1:]),
)

#: What is done to samples: any of these, or whitening by the scatter within classes.
FEATURE_NORMALISATIONS = (*NORMALISATIONS, "center+whiten", "sample_l2+center+whiten")

#: What may be done to samples before that: signed roots of their values, always or where no value is negative.
POWERS = ("power", "auto_power")

#: How inner products of class vectors are taken.
KERNELS = ("linear", "poly2", "rbf")

#: The parts of a data set, in the order in which they are listed.
PARTS = ("train", "val", "test_seen", "test_unseen")

#: How the files of a data set are laid out.
LAYOUTS = ("xlsa17", "sae", "npz", "arrays", "digits")

#: Whether a CSV file starts with a header: to be found out, yes, no.
HEADERS = ("auto", "yes", "no")

#: How models are evaluated: on classes without training samples, or after a few samples of half of the classes.
PROTOCOLS = ("zero-shot", "base-to-new")

#: Which half of the classes has labelled samples in base to new: the first one, a random one, or the data set's own.
BASES = ("first", "random", "own")

#: Groups of candidate classes.
GROUPS = ("seen", "unseen", "all")

#: Files that are pictures, by their names.
PICTURES = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".avif"),
    *(".ppm", ".pgm", ".pbm", ".pnm", ".jp2", ".j2k", ".tga"),
)

#: How one vector is made of what a model gives for a picture or a text.
POOLINGS = ("auto", "mean", "cls", "pooled")

#: How pictures are resized, in the order in which Pillow and Hugging Face count.
RESAMPLES = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")

#: What is done to the values of pictures: scale, mean and standard deviation, by the encoders that were trained so.
PICTURE_NORMALISATIONS = ("clip", "imagenet", "half", "none", "raw")

#: Where the channels of a picture are.
PICTURE_LAYOUTS = ("nchw", "nhwc")

#: What takes the place of values that are missing.
IMPUTATIONS = ("mean", "zero")

#: What stands between the cells of a CSV file, by name.
DELIMITERS = ("comma", "semicolon", "tab", "pipe", "space")
