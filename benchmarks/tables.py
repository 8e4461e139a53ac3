"""The same as `attribution`: bounds and SAP of tables."""

from benchmarks.attribution import main

__all__ = ["main"]
