"""The risk library as a statistician calls it: tables or files in, a result that shows itself out.

Thin: each function reads its records (polars, pandas or Arrow tables, or the files that `gemel risk` reads) and calls
what the command of its name calls, so that both have the same numbers. They are public as `gemel.risk.identify` and so
on; the modules beneath have more options.
"""
