"""The sections of a specification, and the checks of each value by itself."""
