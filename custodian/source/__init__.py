"""A custodian's records, read by `records` and cleaned for a linkage; `cleaned_file` is the way in."""
