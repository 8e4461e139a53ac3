"""From counts of vectors and kept pairs to links: the model, the assignment, draws, and how good they are."""
