"""What a service shows of itself to those who run it: metrics and probes over HTTP, and spans of its work."""
