"""What ``python -m gemel.alice`` and ``python -m gemel.bob`` run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gemel.common.errors import GemelError
from gemel.common.missing_module import missing_module
from gemel.common.parties import Party
from gemel.common.processes import OPTION, end_with_parent
from gemel.custodian.service import serve


def main(party: Party, arguments: list[str] | None = None) -> int:
    """Read the command line (`sys.argv` by default) and serve; the exit status."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {party.name}",
        description=f"{party.title}'s service: it calls Carole and answers only its own operator.",
        epilog=f"`gemel {party.name} status` shows what it does; `gemel {party.name} --help` the other commands.",
    )
    default = Path(f"{party.name}.yaml")
    parser.add_argument("--config", type=Path, default=default, help="the configuration file (default: %(default)s)")
    parser.add_argument("--ready-file", type=Path, help="write this file, JSON, once the service is ready")
    parser.add_argument(OPTION, action="store_true", help="end when standard input ends")
    given = parser.parse_args(arguments)
    if given.with_parent:
        end_with_parent()
    try:
        serve(party, given.config, given.ready_file)
    except (GemelError, ModuleNotFoundError) as error:
        shown = missing_module(error) if isinstance(error, ModuleNotFoundError) else error
        print(f"Error: {shown}", file=sys.stderr)  # noqa: T201 - for the person who started it
        return 1
    return 0
