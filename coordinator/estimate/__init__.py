"""What a specification costs for files of a size: bytes, seconds and memory, before anyone signs anything."""
