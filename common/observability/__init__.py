"""What is configured of a service's metrics and probes, which `serving` has, and the spans of its work."""
