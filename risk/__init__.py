"""Disclosure risk: a library in its own right, used by the parties and usable without them.

`risk.models` holds decomposable graphical models of categorical data: graphs, junction trees, scores, search, inference.
Numbers only: nothing below this package opens a file or a connection.
"""
