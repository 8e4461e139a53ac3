"""The sections of a specification, and what one of their values can tell by itself."""
