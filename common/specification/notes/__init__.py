"""What those who approve a specification should know about it."""
