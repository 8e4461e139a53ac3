"""A specification as text: read, its digests, and the lines of an option."""
