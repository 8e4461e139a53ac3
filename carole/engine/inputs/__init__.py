"""The input of a run from the two contributions, and the result of comparing them: the candidates."""
