"""A linkage of two files from end to end: of records, or of the persons that several records in a file are."""
