"""A custodian's records: read from CSV, Parquet or a database query, and cleaned; `reading` is the way in."""
