"""Protect a file of records and look again: methods, the search for the smallest change, utility, the log.

`protect` does all of it for a `Request`. By themselves: `hierarchies` (levels of detail of a key), `minimal_change`
(which levels), `local_suppression` (which values), `perturbed_keys` (PRAM, swapping), `numbers`
(microaggregation, noise, rounding), `policy` (limits, and the measures that they limit), `key_table` and `comparison`
(what it costs), `log` (what was done, and whether a file is still that). Numbers only, but for `request` and the
command.
"""
