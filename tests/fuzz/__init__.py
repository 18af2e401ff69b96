"""Files and calls at random, all from a seed.

Damaged files of every layout are loaded, or refused in a sentence that names them; ``python -m tests.fuzz --layout
xlsa17 --n 20000`` tries any number of them. Calls of the core are compared with extended precision.
"""
