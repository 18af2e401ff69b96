"""What every layer may use: checked arguments, errors, progress, threads."""
