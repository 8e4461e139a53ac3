"""``python -m gemel.carole``: Carole's service."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gemel.carole.service.application import serve
from gemel.common.errors import GemelError
from gemel.common.processes import OPTION, end_with_parent


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and serve; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m gemel.carole",
        description="Carole's service: the only one of the three that listens on a network.",
        epilog="Also: gemel carole serve.",
    )
    parser.add_argument(
        "--config", type=Path, default=Path("carole.yaml"), help="the configuration file (default: %(default)s)"
    )
    parser.add_argument("--ready-file", type=Path, help="write this file, JSON with the address, once Carole is ready")
    parser.add_argument(OPTION, action="store_true", help="end when standard input ends")
    given = parser.parse_args(arguments)
    if given.with_parent:
        end_with_parent()
    try:
        serve(given.config, given.ready_file)
    except GemelError as error:
        print(f"Error: {error}", file=sys.stderr)  # noqa: T201 - for the person who started it
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
