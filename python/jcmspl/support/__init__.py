"""What every layer may use: checked arguments, errors, warnings, state that threads share, progress."""
