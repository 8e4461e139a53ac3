"""Cleaning: from a custodian's columns to the values that are compared, with a count of everything that changed.

`definition` defines the cleaning of one value in plain Python, dates and numbers too;
`clean` cleans a whole file, `Cleaning` one in batches. `Profile` counts the changes per field and step, for the
custodian only; it never holds a value.
"""
