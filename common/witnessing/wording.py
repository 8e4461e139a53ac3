"""What an operator reads before deciding on a restored log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from gemel.common.witnessing.log_reader import Restored


def restored_lines(restored: Restored, known: Iterable[str]) -> Iterator[str]:
    """What was lost, and what is known here of a project, each with its time: a sentence a line."""
    yield from lost_lines(restored)
    found = list(known)
    if found:
        yield "Known here, whatever Carole's store has of it now (compare the times with that of the backup):"
        yield from (f"  {line}" for line in found)
    else:
        yield "Nothing of this project's results is known here."
    yield (
        "By accepting, the runs named above are reported as released: Carole does not release them again. To refuse "
        "ends the project: it can then only be erased."
    )


def released_lines(runs: Mapping[str, bytes]) -> Iterator[str]:
    """The runs of a project that a party knows to be released, as its memory of the log has them."""
    for run, root in sorted(runs.items()):
        yield f"run {run} released{', and its share fetched' if root else ''}"


def lost_lines(restored: Restored) -> Iterator[str]:
    """What was lost of the log, a sentence a line."""
    size = restored.restored.size
    yield (
        f"Carole's store was put back from a backup of {when(restored.made_at)}, when her audit log had {size} "
        f"entries; it has {restored.newest.size} now."
    )
    if restored.lost is None:
        yield "Nothing that was seen here is lost: the log continues all that this party has verified."
    else:
        yield (
            f"Seen here: {restored.lost.size} entries, the last at {when(restored.lost.at)}. "
            f"Lost is what followed entry {size}: at least {restored.lost.size - size} entries."
            if restored.lost.size > size
            else f"Seen here: {restored.lost.size} entries, of which the restored log does not have all."
        )
        if restored.agreed > size:
            yield "The restored log was accepted here before, for another project."
        elif restored.agreed == size:
            yield "Up to there the log is what this party has verified."
        else:
            yield (
                f"Up to entry {restored.agreed} the log is what this party has verified; entries "
                f"{restored.agreed + 1} to {size} it cannot compare, for it has kept no checkpoint between."
            )


def decided_line(project: str, awaits: Sequence[str], *, accepted: bool) -> str:
    """What came of a decision, with the parties that have not decided yet."""
    if not accepted:
        return f"Refused. {project} does not go on; the coordinator can erase it."
    if awaits:
        return f"Accepted. {project} waits for {', '.join(awaits)}."
    return f"Accepted. {project} waits for no party any more."


def when(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
