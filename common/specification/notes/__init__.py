"""Notes for those who approve a specification."""
