"""Chaos: whole projects whose processes are killed, stopped and ended; each must end as if they were not.

Projects alternate between the modes open and block_keyed, their policy holds every result, and a steward releases it.
Each project ends with the reference's links (those of a project of its mode that was left alone), in one release, under
an audit log whose entries are all proved. Carole's metrics, read before each event, agree with her log as it was then.
At the end every project is erased, and Carole, started once more, has no key and no file of any. The status is 1 where
this does not hold. The seed decides who is struck, how and when; what the processes are doing then is theirs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks._chaos_project import Conductor, Disturbance, Ended, kept
from benchmarks._chaos_remains import going_on, remains
from benchmarks._chaos_site import Site, specification
from gemel.common.parties import Side
from gemel.common.specification import load_specification, specification_digest

MODES = ("open", "block_keyed")


def main(arguments: list[str]) -> int:
    """Print a line for each project, and what is left at the end."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks chaos", description=__doc__)
    parser.add_argument("--projects", type=int, default=4, help="projects that are disturbed")
    parser.add_argument("--hours", type=float, default=1.0, help="no project is begun after this time")
    parser.add_argument("--people", type=int, default=200, help="records of each file")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each project is disturbed")
    parser.add_argument("--pause", type=float, default=1.5, help="mean seconds between two events")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="decides what is struck, and when")
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="gemel-chaos-") as folder:
        problems = list(
            trial(
                Path(folder), options.projects, options.people, options.seed, seconds=options.seconds,
                pause=options.pause, until=time.monotonic() + 3600 * options.hours,
            )
        )  # fmt: skip
    print(
        "\n".join(problems)
        or "All ended with the reference's links, in one release each; metrics agree with the log; nothing is left."
    )
    return 1 if problems else 0


def trial(
    root: Path,
    projects: int,
    people: int,
    seed: int,
    *,
    seconds: float,
    pause: float,
    until: float = np.inf,
    modes: Sequence[str] = MODES,
) -> Iterator[str]:
    """Link undisturbed and disturbed projects; what is wrong with them.

    Parameters
    ----------
    root
        An empty folder.
    projects, people, seed, seconds, pause
        As the command's options.
    until
        On the monotonic clock; no project is begun later.
    modes
        Of the projects, in turn.
    """
    rng = np.random.default_rng(seed)
    names = {f"chaos-{number}": modes[number % len(modes)] for number in range(projects)}
    references = {f"reference-{mode.replace('_', '-')}": mode for mode in modes if mode in names.values()}
    digests = [digest(name, mode) for name, mode in (references | names).items()]
    site = Site(root, people, seed, tuple(digests))
    expected: dict[str, set[tuple[str, str]]] = {}
    events: Counter[str] = Counter()
    begun = []
    try:
        for name, mode in (references | names).items():
            if time.monotonic() > until:
                break
            disturbance = None if name in references else Disturbance(rng, seconds, pause)
            conductor = Conductor(site, name, mode)
            begun.append(conductor)
            with kept(site, conductor, disturbance):
                ended = conductor.conduct(600 + 10 * seconds)
            if disturbance is None:
                expected[mode] = ended.links
                yield from wrong_reference(site, name, ended)
            else:
                events += disturbance.events
                struck = sum(disturbance.events.values())
                print(
                    f"{name}, {mode}: {len(ended.links)} links, {struck} events, {ended.runs} runs, "
                    f"{ended.seconds:.0f} s",
                    flush=True,
                )
            yield from differences(name, ended, expected[mode])
        print(", ".join(f"{count} {event}" for event, count in sorted(events.items())) or "no event", flush=True)
        for conductor in begun:
            with kept(site, conductor, None):
                conductor.erase(120)
        site.stop()
        yield from remains(site)
        processes = len({page.process for page in site.pages})
        print(f"{len(site.pages)} pages of metrics of {processes} processes of Carole's", flush=True)
        yield from going_on(root)
    finally:
        site.stop()


def digest(name: str, mode: str) -> str:
    """Of a project's specification, which custodians approve."""
    return specification_digest(load_specification(specification(name, mode))).hex()


def wrong_reference(site: Site, name: str, ended: Ended) -> Iterator[str]:
    """Whether an undisturbed project has the true links, but for a few."""
    alice, bob = (site.persons[side] for side in Side)
    wrong = sum(alice[a] != bob[b] for a, b in ended.links)
    matches = len(set(alice.values()) & set(bob.values()))
    if wrong or len(ended.links) < 0.9 * matches:
        yield f"{name}: {len(ended.links)} links of {matches} matches, {wrong} of them false"


def differences(name: str, ended: Ended, expected: set[tuple[str, str]]) -> Iterator[str]:
    """How a project's end differs from the reference's."""
    if ended.links != expected:
        yield f"{name}: {len(ended.links - expected)} links too many, {len(expected - ended.links)} too few"
    if ended.releases != 1:
        yield f"{name}: {ended.releases} releases"
