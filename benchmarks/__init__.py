"""Measurements beside peers, on this machine, in one run: `python -m benchmarks NAME`.

Each module here with a function `main(arguments) -> int` is a benchmark of that name. The peers come with
`pip install .[bench]`; without them a benchmark still prints this project's own numbers.
"""
