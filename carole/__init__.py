"""Carole, the linkage unit: she links signatures and never sees a name."""
