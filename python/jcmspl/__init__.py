"""Classical zero-shot recognition."""

__version__ = "0.1.0"
