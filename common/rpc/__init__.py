"""Remote calls: the server of every service, the checks before its methods, the client, and errors on the wire."""
