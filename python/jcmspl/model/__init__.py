"""The family of models: one file a method."""
