"""Remote calls: who may call what, the client, transfers in chunks, what is trusted, and errors on the wire."""
