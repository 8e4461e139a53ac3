"""The state of a custodian's service, which survives a crash at any moment: database, encrypted files, keys."""
