"""Checks across the values of a specification, one subject a module; the consistent `Specification`."""
