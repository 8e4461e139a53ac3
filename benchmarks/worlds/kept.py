"""Outcomes of worlds on disk, and worlds judged each in a process of its own, with limits.

`FOLDER/LABEL/SEED.json` is what the program did, under a label for its state; `FOLDER/peer/SEED-DIGEST.json` what the
peer did with an input of that digest, which stays while the program's drafts do.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.worlds.ablation import MECHANISMS, REMEDIES
from benchmarks.worlds.files import files
from benchmarks.worlds.judged import Judgement, Outcome
from benchmarks.worlds.peer import PeerInput, PeerOutcome
from benchmarks.worlds.world import drawn

PROCESSOR, ADDRESSES, WALL = 600, 12 << 30, 1800
"""A world's seconds of the processor, bytes of addresses, and seconds that it may take with its peer."""


@dataclass(frozen=True)
class Judged:
    """What the program and, where it was asked, the peer did with a world."""

    own: Outcome
    peer: PeerOutcome | None


@dataclass(frozen=True)
class Kept:
    """The outcomes of one label in a folder."""

    folder: Path
    label: str

    def judged(self, seed: int) -> Judged | None:
        """A world's outcomes; None where it was not judged."""
        path = self.path(seed)
        if not path.exists():
            return None
        fields = json.loads(path.read_text(encoding="utf-8"))
        claims = {name: tuple(claim) for name, claim in fields.pop("claims").items()}
        own = Outcome(**{**fields, "records": tuple(fields["records"]), "claims": claims})
        beside = self.peer_path(own)
        if not beside.exists():
            return Judged(own, None)
        return Judged(own, PeerOutcome(**json.loads(beside.read_text(encoding="utf-8"))))

    def all_judged(self, seeds: Iterable[int]) -> list[Judged]:
        """The outcomes of those worlds that were judged."""
        return [found for seed in seeds if (found := self.judged(seed)) is not None]

    def path(self, seed: int) -> Path:
        return self.folder / self.label / f"{seed}.json"

    def peer_path(self, own: Outcome) -> Path:
        return self.folder / "peer" / f"{own.seed}-{own.peer_input}.json"

    def write(self, path: Path, outcome: Outcome | PeerOutcome) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".new")
        beside.write_text(json.dumps(asdict(outcome), indent=1), encoding="utf-8")
        beside.replace(path)

    def complete(self, seed: int, peer: bool) -> bool:
        """Whether nothing is left to be done for a world."""
        found = self.judged(seed)
        return found is not None and (not peer or not found.own.peer_input or found.peer is not None)


def judge(kept: Kept, seed: int, peer: Path | None, changed: str = "") -> None:
    """Do in this process what is left to be done for one world, and keep it.

    `peer`: its interpreter; `changed`: one of `MECHANISMS`, without which the process is then, or of `REMEDIES`.
    """
    if changed:
        (MECHANISMS | REMEDIES)[changed]()
    world = drawn(seed)
    judgement = Judgement(world, *files(world))
    spec = judgement.drafted()
    with TemporaryDirectory() as name:
        given = None if spec is None else PeerInput(judgement.alice, judgement.bob, spec, Path(name))
        digest, before = "" if given is None else given.digest, kept.judged(seed)
        if before is not None and before.own.peer_input == digest:
            own = before.own
        else:
            own = replace(judgement.linked(), peer_input=digest)
            kept.write(kept.path(seed), own)
        if peer is not None and given is not None and not kept.peer_path(own).exists():
            kept.write(kept.peer_path(own), given.linked(peer))


def judge_all(
    kept: Kept, seeds: Iterable[int], peer: Path | None, processes: int, again: bool, changed: str = ""
) -> Iterator[Judged]:
    """Judge worlds, so many at a time, and yield their outcomes in order; what is complete is not done again.

    Arguments as of `judge`.
    """

    def one(seed: int) -> Judged:
        if again:
            kept.path(seed).unlink(missing_ok=True)
        if not kept.complete(seed, peer is not None):
            ended = limited(PROCESSOR, WALL, judge, kept, seed, peer, changed)
            if not kept.path(seed).exists():
                world = drawn(seed)
                kept.write(kept.path(seed), Outcome(seed, dict(world.values), world.sizes, incident=ended))
        found = kept.judged(seed)
        assert found is not None
        return found

    with ThreadPoolExecutor(processes) as pool:
        yield from pool.map(one, seeds)


def limited(processor: int, wall: float, task: Callable[..., None], *arguments: object) -> str:
    """Do a task in a process of its own, with limits in seconds; how that ended."""
    # It is forked from a process that has imported everything and started no thread.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    child = context.Process(target=_within, args=(processor, task, arguments))
    child.start()
    child.join(wall)
    if child.exitcode is None:
        child.kill()
        child.join()
    status = child.exitcode
    by = signal.Signals(-status).name if status is not None and status < 0 else f"an error of status {status}"
    return f"its process ended by {by}"


def _within(processor: int, task: Callable[..., None], arguments: tuple[object, ...]) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    task(*arguments)
