"""A world judged from end to end, what is kept of it, and a world that dies."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import worlds
from benchmarks.worlds import kept as keeping
from benchmarks.worlds.ablation import MECHANISMS
from benchmarks.worlds.files import files
from benchmarks.worlds.judged import Judgement
from benchmarks.worlds.kept import Judged, Kept, judge, judge_all
from benchmarks.worlds.peer import PeerInput, PeerOutcome
from benchmarks.worlds.requirements import FIGURES
from benchmarks.worlds.world import World, drawn


def small(mode: str) -> World:
    """The first world of a mode with few records, and people in common."""
    found = (drawn(seed) for seed in range(1, 1000))
    return next(world for world in found if world.records < 500 and world.mode == mode and world.common > 0.3)


@pytest.mark.parametrize("mode", ["open", "block_keyed"])
def test_a_small_world_is_judged(mode: str) -> None:
    world = small(mode)
    judgement = Judgement(world, *files(world))
    assert judgement.drafted() is not None
    own = judgement.linked()
    assert not own.incident
    assert not own.refused
    assert own.labels == world.values
    assert own.links >= own.true_links > 0
    assert own.people <= min(own.records)
    assert own.claims.keys() <= own.true.keys() == set(FIGURES)
    assert 0 < (own.true["sum"] or 0) <= own.matches
    assert own.counting > 0
    assert own.deciding > 0
    assert own.mode == mode or own.rules == 0


def test_what_is_kept_is_what_was_judged_and_is_reported_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = small("open").seed
    kept = Kept(tmp_path, "now")
    judge(kept, seed, None)
    found = kept.judged(seed)
    assert found is not None
    assert kept.complete(seed, peer=False)
    assert not kept.complete(seed, peer=True)
    marked = replace(found.own, seconds={"decide": 1.25})
    kept.write(kept.path(seed), marked)
    judge(kept, seed, None)
    assert kept.judged(seed) == Judged(marked, None)
    peer = PeerOutcome("5.0.0", 10, 9, found.own.matches)
    kept.write(kept.peer_path(found.own), peer)
    assert kept.complete(seed, peer=True)
    assert kept.judged(seed) == Judged(marked, peer)
    status = worlds.main(["--only", str(seed), "--keep", str(tmp_path), "--report-only", "--against", "now"])
    printed = capsys.readouterr().out
    assert status == int("NOT met" in printed)
    assert printed.startswith("1 worlds, 0 refused; the peer does not fit 0.")


def test_the_peers_input_is_another_where_its_fields_are(tmp_path: Path) -> None:
    world = small("open")
    alice, bob = files(world)
    spec = Judgement(world, alice, bob).drafted()
    assert spec is not None
    fewer = spec.model_copy(update={"fields": spec.fields[:-1]})
    digests = []
    for number, each in enumerate((spec, spec, fewer)):
        folder = tmp_path / str(number)
        folder.mkdir()
        digests.append(PeerInput(alice, bob, each, folder).digest)
    assert digests[0] == digests[1] != digests[2]


def test_a_world_that_dies_is_an_incident_and_does_not_end_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "WALL", 0.0)
    found = list(judge_all(Kept(tmp_path, "now"), [1, 2], None, 1, again=False))
    assert [one.own.seed for one in found] == [1, 2]
    assert all(one.own.incident.startswith("its process ended by") for one in found)
    assert all(one.own.f1 == 0 for one in found)


def test_worlds_are_judged_without_a_mechanism_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In processes of their own, in which alone the mechanism is missing."""
    taken = ("exclusion", "how far off models are")
    monkeypatch.setattr(worlds, "MECHANISMS", {name: worlds.MECHANISMS[name] for name in taken})
    seed = small("open").seed
    assert worlds.main(["--only", str(seed), "--keep", str(tmp_path), "--no-peer", "--ablation"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("1 worlds.")
    assert "| nothing | " in printed
    both = [Kept(tmp_path, label).judged(seed) for label in ("now", f"now, without {taken[1]}")]
    whole, without = (one.own for one in both if one is not None)
    assert without.f1 == whole.f1
    wide, narrow = (one.claims["recall"][2] - one.claims["recall"][1] for one in (whole, without))  # type: ignore[operator]
    assert narrow < wide


def test_worlds_with_a_warning_are_judged_with_its_remedy_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = small("open")
    kept, (code,) = Kept(tmp_path, "now"), worlds.REMEDIES
    assert worlds.main(["--only", str(world.seed), "--keep", str(tmp_path), "--no-peer"]) in (0, 1)
    found = kept.judged(world.seed)
    assert found is not None
    kept.write(kept.path(world.seed), replace(found.own, warnings={code: "serious"}))
    capsys.readouterr()
    assert worlds.main(["--only", str(world.seed), "--keep", str(tmp_path), "--no-peer", "--remedies"]) == 0
    assert "| 1 | " in capsys.readouterr().out
    remedied = Kept(tmp_path, f"now, remedy of {code}").judged(world.seed)
    assert remedied is not None
    assert remedied.own.claims["sum"] != found.own.claims["sum"]


def test_every_mechanism_can_be_taken_out() -> None:
    context = multiprocessing.get_context("fork")
    for name, apply in MECHANISMS.items():
        process = context.Process(target=apply)
        process.start()
        process.join()
        assert process.exitcode == 0, name
