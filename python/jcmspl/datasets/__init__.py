"""Data sets for zero-shot learning."""
