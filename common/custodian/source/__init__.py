"""A custodian's records, read from CSV, Parquet or a database query."""
