"""Cleaning: from a custodian's columns to the values that are compared, with a count of everything that changed.

`definition` says in plain Python what becomes of one value, `dates` and `numbers` how those are read; `clean` does
it to a whole file. `Profile` counts per field and step what was done, for the custodian's eyes; it never holds a
value.
"""

from tryst.common.cleaning.columns import Cleaned, clean
from tryst.common.cleaning.definition import clean_value
from tryst.common.cleaning.display import profile_table
from tryst.common.cleaning.profile import FieldProfile, Profile
from tryst.common.cleaning.variables import VariableProfile

__all__ = ["Cleaned", "FieldProfile", "Profile", "VariableProfile", "clean", "clean_value", "profile_table"]
