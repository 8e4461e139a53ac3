"""One assessment of a file: every measure that can be computed, in words, and the records of highest risk."""
