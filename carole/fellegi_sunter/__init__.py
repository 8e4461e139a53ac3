"""Fellegi-Sunter linkage from counts of comparison patterns: estimation, scores, one-to-one decisions."""
