"""What the tests share: an oracle, made-up data, files in known layouts, fits to compare with. No tests."""
