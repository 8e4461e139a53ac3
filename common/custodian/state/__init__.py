"""What a custodian's service remembers through a crash at any moment: database, encrypted files, keys."""
