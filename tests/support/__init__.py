"""Helpers of the tests: an oracle, made-up data, files in known layouts, fits to compare with.

The test files are those of jcmspl.support.
"""
