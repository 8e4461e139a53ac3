"""Commands of the linkage unit, and the test attack with its linker; they import what they need when they run."""
