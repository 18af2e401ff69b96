"""Files of every layout, damaged at random from a seed: each is loaded, or refused in a sentence that names it.

``python -m tests.fuzz --layout xlsa17 --n 20000`` tries any number; the tests try a few hundred of each layout.
"""
