"""Watching Carole's audit log: what every party does with the checkpoints it is shown, and with a log put back from a
backup. `log_reader` requests, compares and decides; each party keeps checkpoints in a memory of its own.
"""
