"""Messages and services by version."""
