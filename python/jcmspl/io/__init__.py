"""Files: written whole or not at all, models, ONNX, JSON."""
