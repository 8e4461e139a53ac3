"""A first specification proposed from two files: their shared columns, compared fields and blocking rules."""
