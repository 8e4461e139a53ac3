"""A specification as text: read and written, its digests, its JSON Schema and its reference."""
