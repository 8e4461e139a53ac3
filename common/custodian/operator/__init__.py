"""The custodian's own operator: the loopback service that answers it, the client of that, and what the client shows."""
