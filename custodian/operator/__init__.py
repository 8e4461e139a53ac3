"""The custodian's own operator: the loopback service that answers it, its client, and what the client shows."""
