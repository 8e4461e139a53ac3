"""Attribution risk: what an intruder learns of people from tables, samples and records, with or without finding them.

A `Release` holds published tables, each under the law of its protection. `bounds` gives what is certain of every cell,
`sap` the probability that subtracting known people reveals an empty cell, `posterior` what is probable.
Numbers only: files are read by `reader` alone, for the commands.
"""
