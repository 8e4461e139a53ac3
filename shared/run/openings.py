"""What is opened in a run of mode shared, each to Carole alone; `docs/shared-mode.md` lists them by these names.

What the parties open to each other in their checks, random words without meaning, is called ``check``.
"""

LEVELS = "levels of candidate pairs"
"""Of each pair whether it counts, and then its rules, presence and levels; in an order that no party knows."""

CHANCE = "levels of random pairs"
"""The same of pairs of the samples' rows, without rules."""

VALUES_OF_SAMPLES = "presence of values in samples"
"""Of each row of a side's samples, which fields have a value; in an order that no party knows."""

VALUES_OF_ROWS = "presence of values in rows"
"""Of each row of a side's largest rule, which fields have a value; in an order that no party knows."""

AGREEMENT = "agreement in the check field"
"""Of the pairs that Carole has named by their places."""
