"""The custodian's own operator: a loopback service, and the commands that call it."""
