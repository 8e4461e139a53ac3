"""Cleaning: from a custodian's columns to the values that are compared, with a count of everything that changed.

`definition` defines the cleaning of one value in plain Python, `dates` and `numerals` that of dates and numbers;
`clean` cleans a whole file, `Cleaning` one in batches. `Profile` counts the changes per field and step, for the
custodian only; it never holds a value.
"""

from gemel.custodian.cleaning.columns import Cleaned, Cleaning, clean
from gemel.custodian.cleaning.definition import clean_value
from gemel.custodian.cleaning.display import profile_table
from gemel.custodian.cleaning.profile import FieldProfile, Profile
from gemel.custodian.cleaning.variables import VariableProfile

__all__ = ["Cleaned", "Cleaning", "FieldProfile", "Profile", "VariableProfile", "clean", "clean_value", "profile_table"]
