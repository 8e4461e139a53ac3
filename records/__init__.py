"""Files and tables of records of every kind, read as columns of text, each row with its place: `registry`."""
