"""A custodian's records, read by `common.records` and cleaned for a linkage; `reading` is the way in."""
