"""Parameters chosen by cross-validation over classes."""
