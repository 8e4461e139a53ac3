"""Remote calls: the server every service is, the gate before its methods, the client, and errors across the wire."""
