"""Tools of every layer: checked arguments, errors, warnings, progress, names, memory, threads."""
