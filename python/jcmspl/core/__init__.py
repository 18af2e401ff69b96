"""The kernels of the compiled core, with checked arguments and readable errors."""
