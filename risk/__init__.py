"""Disclosure risk: a library in its own right, used by the parties and usable without them.

`risk.models` holds decomposable graphical models of categorical data: graphs, junction trees, scores, search,
inference. `risk.attribution` assesses what tables, samples and records disclose of people, `risk.magnitude` what tables
of sums do of those who contribute to them, `risk.identification` how likely a released record is to be recognised,
`risk.keyvars` on what, and how finely, sets of data can be matched. Numbers only, but for the commands and the modules
that read files for them.
"""
