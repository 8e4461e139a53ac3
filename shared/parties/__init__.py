"""The coordinator's and the steward's part in computations of mode shared: a process that calls Carole, and computes.

`offered_session` verifies what Carole shows before anything is computed, `compute_process` goes from one session to the
next, `computing_screen` shows what it does.
"""
