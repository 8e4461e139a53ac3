"""Special uniques: the smallest sets of keys on which a record is alone, and what they are worth."""
