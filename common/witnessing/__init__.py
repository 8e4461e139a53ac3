"""Watching Carole's audit log: what every party does with the checkpoints it is shown, and with a log put back from a
backup. `log_memory` keeps checkpoints, `log_reader` requests, compares and decides.
"""
