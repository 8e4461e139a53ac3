"""What all commands have in common: options, and output as words or JSON."""
