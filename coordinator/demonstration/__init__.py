"""What a linkage can be tried on when no real records may be used: generated people."""
