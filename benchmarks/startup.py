"""Processor time until a command answers, as a ratio to `python -c pass`: `python -m benchmarks startup`.

Each command runs several times as a process of its own. Of user and system time together the minimum and the median
are shown, in seconds and as ratios to the empty program's of the same run; the command ends with status 1 where the
minimum is above what is required.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

GEMEL = (sys.executable, "-m", "gemel")
LIGHT_SECONDS = 0.4
STATUS_SECONDS = 1.0


def processor_seconds(command: tuple[str, ...], environment: dict[str, str] | None = None) -> float:
    """User and system time of one run, whatever its status."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
    )
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return used.ru_utime + used.ru_stime


def main(arguments: list[str]) -> int:
    """Measure every command and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks startup", description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    runs: int = parser.parse_args(arguments).runs
    completing = {"_GEMEL_COMPLETE": "complete_bash", "COMP_WORDS": "gemel al", "COMP_CWORD": "1"}
    with tempfile.TemporaryDirectory() as folder:
        parties = Path(folder) / "parties"
        init = (*GEMEL, "init", str(parties), "--address", "127.0.0.1:1")
        subprocess.run(init, check=True, stdout=subprocess.DEVNULL)
        status = (*GEMEL, "alice", "status", "--config", str(parties / "alice/alice.yaml"))
        commands: dict[str, tuple[tuple[str, ...], dict[str, str], float | None]] = {
            "python -c pass": ((sys.executable, "-c", "pass"), {}, None),
            "gemel --help": ((*GEMEL, "--help"), {}, LIGHT_SECONDS),
            "gemel --version": ((*GEMEL, "--version"), {}, LIGHT_SECONDS),
            "completion of `gemel al`": (GEMEL, completing, LIGHT_SECONDS),
            "gemel nonsense": ((*GEMEL, "nonsense"), {}, LIGHT_SECONDS),
            "gemel spec check": ((*GEMEL, "spec", "check"), {}, LIGHT_SECONDS),
            "gemel demo --people 3": ((*GEMEL, "demo", "--people", "3"), {}, LIGHT_SECONDS),
            "gemel risk --help": ((*GEMEL, "risk", "--help"), {}, LIGHT_SECONDS),
            "gemel alice status": (status, {}, STATUS_SECONDS),
        }
        for command, environment, _ in commands.values():  # what is compiled or read for the first time is not measured
            processor_seconds(command, environment)
        measured = {
            name: [processor_seconds(command, environment) for _ in range(runs)]
            for name, (command, environment, _) in commands.items()
        }
    base = measured["python -c pass"]
    print(f"Python {sys.version.split()[0]}, {runs} runs; seconds of processor time\n")
    print(f"{'command':<26} {'minimum':>8} {'ratio':>6} {'median':>8} {'ratio':>6} {'required':>9}")
    missed = 0
    for name, seconds in measured.items():
        minimum, middle, limit = min(seconds), median(seconds), commands[name][2]
        missed += limit is not None and minimum > limit
        print(
            f"{name:<26} {minimum:>8.3f} {minimum / min(base):>6.1f} {middle:>8.3f} {middle / median(base):>6.1f} "
            f"{'' if limit is None else f'< {limit:g}':>9}"
        )
    return int(missed > 0)
