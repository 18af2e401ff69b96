"""Labels, class vectors, folds of classes, normalisation, and the one pass over the samples."""
