"""The steps of a custodian's work, one module each; `agent` says which is next."""
