"""The linkage coordinator: the commands that drive a linkage, its report, and invented people to try one on."""
