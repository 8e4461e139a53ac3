"""Measurements beside peers, on this machine, in one run: `python -m benchmarks NAME`.

Each module here with a function `main(arguments) -> int` is a benchmark of that name. The peers come with
`pip install .[bench]`; without them a benchmark still prints this project's own numbers.
"""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
"""Where a benchmark writes its page."""

DATA = REPOSITORY.parent / "shared" / "data"
"""Reference files beside the checkout; programs that read them report when they are absent."""
