"""What the values of a specification must make together, one subject a module; the consistent `Specification`."""
