"""Paths and addresses, atomic writing, archives of models, ONNX, JSON."""
