"""Hostile input: damaged files of every layout, random calls with hostile data, random settings.

Files are damaged at random from a seed: each is loaded, or refused in a sentence that names it. Answers of calls are
compared with their definition in extended precision; those of settings of methods with each other, as relations have
it. ``python -m tests.fuzz --layout xlsa17 --n 20000``, ``--calls nearest --n 20000`` and ``--contract --n 1000`` try
any number; the tests try a few hundred of each. With ``--resume`` a campaign of hours can be interrupted.
"""
