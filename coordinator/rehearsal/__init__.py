"""A whole linkage on one machine: three real services with throw-away keys, and what they leave in a folder."""
