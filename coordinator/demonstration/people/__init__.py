"""Invented people, for the demonstration, the benchmarks and the tests.

All people here are invented. Names are drawn with the frequencies of the 1990 census of the United States (public
domain), so that they are as skewed as names are; streets, towns and postcodes are made up, and so is every combination.

``generate`` makes a population of households, `insured` gives them traits as drivers, ``corrupt`` puts
clerks' and scanners' errors into it, and ``two_files`` makes two overlapping files with the truth beside them.
Everything follows from the :class:`numpy.random.Generator` given: the same seed gives the same people.
"""

from .corruption import corrupt, damage
from .population import COLUMNS, IDENTIFIER, TRUTH, generate, two_files

__all__ = ["COLUMNS", "IDENTIFIER", "TRUTH", "corrupt", "damage", "generate", "two_files"]
