"""What every step of a run stands on: its plan, its result, memory and machine, vectors packed, units of work."""
