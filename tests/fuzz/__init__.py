"""What the package must survive: damaged files of every layout, and random calls with hostile data.

Files are damaged at random from a seed: each is loaded, or refused in a sentence that names it. Answers of calls are
compared with their definition in extended precision. ``python -m tests.fuzz --layout xlsa17 --n 20000`` and
``--calls nearest --n 20000`` try any number; the tests try a few hundred of each.
"""
