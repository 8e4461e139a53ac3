"""Risk when key values were swapped or are wrong, and the matrices that say how."""
