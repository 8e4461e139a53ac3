"""Encoding: records per second from a CSV file to signatures, beside clkhash's on the same machine.

The file holds generated people whose names occur as often as names do. Gemel reads it, cleans it and makes
one signature of 1024 bits for each of five fields; clkhash makes one Bloom filter of 1024 bits for the
whole record, from the same five columns, uncleaned and unvalidated, by both of its hashes. So Gemel's
output is five times clkhash's, and the ratio of records per second is the smaller of the two that could be
claimed.

With `--memory` a custodian's own way is measured once, in mode block_keyed: a file of people who are generated in
batches is read, cleaned, signed and kept encrypted within that much memory, as its high-water mark shows.
`--fields` and `--rules` choose how many of them there are.

With `--mode block_keyed` Gemel alone is measured, signing every record once for each of three blocking rules. With
`--cryptography approved` it signs by the suite of that name.

Every run is a process of its own, and times itself after its imports; the rounds alternate, so that
whatever else the machine does weighs on both. A run on one core is bound to that core. The ratio is taken
per round, to whichever of clkhash's two hashes is the faster in the median; on a busy machine the ratio in
processor time is the one to read.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import REPOSITORY
from benchmarks._encode_in_memory import in_memory
from benchmarks._figures import print_spread, ratios
from gemel.common.keys.derivation import FieldKeys
from gemel.common.keys.suite import Suite
from gemel.coordinator.demonstration.people import generate
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.tokens import tokenise

FIELDS = {
    "given_name": "{name: given_name, kind: name}",
    "surname": "{name: surname, kind: name}",
    "date_of_birth": "{name: date_of_birth, kind: date, date: {order: ymd}}",
    "street": "{name: street, kind: text}",
    "postcode": "{name: postcode, kind: code}",
}
SPECIFICATION = """version: 1
project: benchmark
mode: {mode}
custodians: {{alice: {{identifier: person_id}}, bob: {{identifier: person_id}}}}
fields:
{fields}
{blocking}
retention: {{uploads_days: 1, results_days: 1, maps_days: 1}}
"""
RULES = """blocking:
  - {name: born, keys: [{field: date_of_birth}]}
  - {name: names, keys: [{field: surname}, {field: given_name, prefix: 1}]}
  - {name: place, keys: [{field: postcode}, {field: date_of_birth, part: year}]}"""
PEER_PYTHON = REPOSITORY / ".venv-clkhash" / "bin" / "python"
HOW = """clkhash 0.18.3 requires an older cryptography than Gemel does, so it gets an environment of its own:
  python3.11 -m venv .venv-clkhash && .venv-clkhash/bin/pip install clkhash==0.18.3"""
HASHES = ("blakeHash", "doubleHash")
BITS_PER_TOKEN = 15


def main(arguments: list[str]) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks encode", description=__doc__)
    parser.add_argument("--mode", choices=("open", "block_keyed"), default="open", help="what is made of the records")
    parser.add_argument("--cryptography", choices=tuple(Suite), default="default", help="the suite of algorithms")
    parser.add_argument("--rows", type=int, default=200_000, help="records in the file")
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="cores of the second measurement")
    parser.add_argument(
        "--clkhash-python",
        default=str(PEER_PYTHON) if PEER_PYTHON.exists() else sys.executable,
        help="interpreter of the environment that has clkhash (default: .venv-clkhash if there is one, else this)",
    )
    parser.add_argument("--memory", default="", help="measure a custodian's process with this limit, such as 2GiB")
    parser.add_argument("--fields", type=int, default=len(FIELDS), help="with --memory: the first so many fields")
    parser.add_argument("--rules", type=int, default=3, help="with --memory: the first so many rules")
    parser.add_argument("--bits", type=int, default=1024, help="with --memory: length of a signature")
    parser.add_argument("--gate", action="store_true", help="with --memory: by the leakage gate first")
    options = parser.parse_args(arguments)
    if options.memory:
        return in_memory(options)
    with tempfile.TemporaryDirectory() as folder:
        files = _prepare(Path(folder), options.rows, options.mode, options.cryptography)
        peer = _peer_version(options.clkhash_python) if options.mode == "open" else None
        commands = _commands(files, options, with_peer=peer is not None)
        if options.mode == "block_keyed":
            print(f"mode block_keyed, rules:\n{RULES}\n")
        elif peer is None:
            print(f"clkhash is not installed; only Gemel is measured.\n{HOW}\n")
        else:
            print(f"clkhash {peer}, {BITS_PER_TOKEN} bits per bigram, 1024 bits")
            if int(peer.split(".")[1]) < 18:
                print(f"This clkhash is several times slower than 0.18.3.\n{HOW}")
        print(f"{options.rows} records of {len(FIELDS)} fields, seed 1, {options.rounds} alternating rounds\n")
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, (command, environment) in commands.items():
                runs[name].append(_run(command, environment))
    _report(runs, options.threads)
    if options.mode == "block_keyed":
        _blocks(runs)
        return 0
    _signing(options.rounds)
    return 0


def _report(runs: dict[str, list[dict[str, Any]]], threads: int) -> None:
    rates = {name: [run["rows"] / run["seconds"] for run in measured] for name, measured in runs.items()}
    _header("records per second")
    for name, values in rates.items():
        _row(name, values)
    for cores in dict.fromkeys((1, threads)):
        gemel = f"gemel, {_cores(cores)}"
        made = [run["signatures"] / run["seconds"] for run in runs[gemel]]
        _row(f"{gemel}: signatures of 1024 bits", made)
        theirs = [rates[name] for name in rates if name.startswith("clkhash") and name.endswith(_cores(cores))]
        if theirs:
            best = max(theirs, key=statistics.median)
            _row(f"ratio to clkhash's best, {_cores(cores)}", ratios(rates[gemel], best), ".1f")
    used = {name: [run["cpu"] for run in runs[name]] for name in runs if name.endswith(_cores(1))}
    peers = [values for name, values in used.items() if name.startswith("clkhash")]
    if peers:
        minimum = min(peers, key=statistics.median)
        _row("ratio in processor time, 1 core", ratios(minimum, used[f"gemel, {_cores(1)}"]), ".1f")
    peers = [values for name, values in rates.items() if name.startswith("clkhash")]
    if peers:
        best = max(peers, key=statistics.median)
        _row("ratio, each side's best", ratios(rates[f"gemel, {_cores(threads)}"], best), ".1f")
    for name, measured in runs.items():
        if name.startswith("gemel"):
            parts = ", ".join(
                f"{part} {statistics.median(run[part] for run in measured):.2f} s" for part in ("read", "clean", "sign")
            )
            last = measured[-1]
            print(f"\n{name}: {parts}; {last['distinct']} distinct signatures, peak {last['peak_mib']:.0f} MiB", end="")
    print()


def _blocks(runs: dict[str, list[dict[str, Any]]]) -> None:
    """Signing alone, per rule."""
    print()
    _header("records per second and rule, signing alone")
    for name, measured in runs.items():
        _row(name, [run["rule_rows"] / run["sign"] for run in measured])
    one = runs[f"gemel, {_cores(1)}"]
    _row("one core, processor time", [run["rule_rows"] / run["sign_cpu"] for run in one])
    print(f"{one[-1]['bytes'] / 2**20:,.0f} MiB to send")


def _signing(rounds: int) -> None:
    """Signatures of distinct values in memory: what a nearly unique field costs."""
    rng = np.random.default_rng(2)
    messages = rng.integers(97, 123, size=(100_000, 7), dtype=np.uint32)
    names = [row.tobytes().decode("utf-32-le") for row in messages]
    keys = FieldKeys(rng.bytes(32), rng.bytes(32))
    print()
    _header("distinct values of 7 letters, tokens and 1024 bits, per second")
    for tokenisation in ("bigrams", "positional_bigrams", "value"):
        rates = []
        for warm in range(rounds + 1):
            started = time.perf_counter()
            signatures(tokenise(names, tokenisation, bytes(32)), keys, 1024)
            if warm:
                rates.append(len(names) / (time.perf_counter() - started))
        _row(tokenisation, rates)


def _prepare(folder: Path, rows: int, mode: str, suite: str) -> dict[str, Path]:
    """The people's file, its first lines, the specification and clkhash's schemas."""
    people = generate(rows, np.random.default_rng(1), sampled=0.05).select(list(FIELDS))
    files = {"csv": folder / "people.csv", "spec": folder / "linkage.yaml"}
    people.write_csv(files["csv"])
    people.head(50).write_csv(folder / "people.few")
    fields = "\n".join(f"  - {field}" for field in FIELDS.values())
    text = SPECIFICATION.format(fields=fields, mode=mode, blocking=RULES if mode == "block_keyed" else "")
    files["spec"].write_text(f"{text}cryptography: {suite}\n", encoding="utf-8")
    for kind in HASHES:
        files[kind] = folder / f"{kind}.json"
        files[kind].write_text(json.dumps(_schema(kind)), encoding="utf-8")
    return files


def _schema(kind: str) -> dict[str, Any]:
    """clkhash's schema for the same columns: bigrams, and single characters in their place for date and code."""
    features = []
    for name in FIELDS:
        placed = name in ("date_of_birth", "postcode")
        features.append(
            {
                "identifier": name,
                "format": {"type": "string", "encoding": "utf-8", "maxLength": 200},
                "hashing": {
                    "strategy": {"bitsPerToken": BITS_PER_TOKEN},
                    "hash": {"type": kind},
                    "comparison": {"type": "ngram", "n": 1 if placed else 2, "positional": placed},
                },
            }
        )
    config = {"l": 1024, "kdf": {"type": "HKDF", "hash": "SHA256", "keySize": 64}}
    return {"version": 3, "clkConfig": config, "features": features}


def _commands(
    files: dict[str, Path], options: argparse.Namespace, *, with_peer: bool
) -> dict[str, tuple[list[str], dict[str, str]]]:
    """What to run under which name, with which environment."""
    commands: dict[str, tuple[list[str], dict[str, str]]] = {}
    here = Path(__file__).parent
    for cores in dict.fromkeys((1, options.threads)):
        commands[f"gemel, {_cores(cores)}"] = (
            [sys.executable, "-m", "benchmarks._encode_gemel", str(files["csv"]), str(files["spec"]), str(cores)],
            {"POLARS_MAX_THREADS": str(cores), "PYTHONPATH": str(here.parent)},
        )
        for kind in HASHES if with_peer else ():
            script = [str(here / "_encode_clkhash.py"), str(files["csv"]), str(files[kind]), str(cores)]
            commands[f"clkhash {kind}, {_cores(cores)}"] = ([options.clkhash_python, *script], {})
    return commands


def _run(command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _peer_version(python: str) -> str | None:
    """clkhash's version in the environment of an interpreter, None where it has none."""
    code = "import clkhash.clk; from importlib.metadata import version; print(version('clkhash'))"
    done = subprocess.run([python, "-W", "ignore", "-c", code], check=False, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def _cores(count: int) -> str:
    return "1 core" if count == 1 else f"{count} cores"


def _header(unit: str) -> None:
    print(f"{'':44} {'median':>11} {'min':>11} {'max':>11}  {unit}")


def _row(name: str, values: list[float], form: str = ",.0f") -> None:
    print_spread(f"{name:44}", values, form, 11)
