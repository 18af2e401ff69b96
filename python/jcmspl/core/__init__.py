"""The kernels, with checked arguments and errors that are sentences."""
