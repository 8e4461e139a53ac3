"""What all commands have in common: options, output as words or JSON, lists of checks, and an end in order."""
