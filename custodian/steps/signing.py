"""Signing a cleaned file into a pending upload: set by set in mode block_keyed, as a whole in the other modes.

An upload is written whole, encrypted, before its row is added; a process that is killed before begins again, and ends
with the same bytes, but in mode shared, whose shares (`UploadShares`) are drawn for each upload and never stored.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from gemel.common.arrays import I64
from gemel.common.keys.check import key_check_value
from gemel.common.keys.derivation import Seed
from gemel.common.keys.noise import NoiseKey
from gemel.common.parties import ComputeParty
from gemel.common.pki.members import Member, compute_members
from gemel.common.pki.sealing_suites import require_sealing_keys
from gemel.common.processes import processors
from gemel.common.progress import Progress
from gemel.common.signatures.custodian_shares import ShareSecrets
from gemel.common.signatures.intervals import INTERVAL_ROWS
from gemel.common.signatures.layout import CODES, Layout, SetLayout
from gemel.common.signatures.party_sets import SharedUpload
from gemel.common.signatures.signature_sets import SignatureSet
from gemel.common.specification import Specification
from gemel.common.wire.manifest import Manifest, manifest_to_wire
from gemel.common.wire.share_headers import HeaderAbout, seal_header
from gemel.custodian.encoding.categories import known_set
from gemel.custodian.encoding.decoys import with_decoys
from gemel.custodian.encoding.file_records import MakeTable
from gemel.custodian.encoding.records import encode_records
from gemel.custodian.encoding.shared_sets import SentSet, Sharing, sent_bytes
from gemel.custodian.encoding.streamed import Portion, encode_table
from gemel.custodian.source.cleaned_file import CleanedFile
from gemel.custodian.source.known_file import read_known_files
from gemel.custodian.state.pending_uploads import UploadFiles
from gemel.custodian.state.row_map import RowMapWriter
from gemel.custodian.state.state_database import Upload
from gemel.custodian.steps.held_memory import FileSize, MemoryLimit, require_room, unit_bytes, units_room
from gemel.custodian.steps.step_context import StepContext, Task

# Mode shared at a custodian: its sets cut into shares on their way into the upload, and the seeds for who computes.
#
# The secrets are drawn for each upload and held in memory alone, until they are sealed to the three parties; the
# custodian itself cannot open its upload afterwards. The plain words of a set are in memory while it is shared.


def computing(context: StepContext, task: Task) -> tuple[Member, Member, Member] | None:
    """The members who compute, by compute party, in mode shared; None in the other modes."""
    if task.spec.mode != "shared":
        return None
    members = compute_members(context.trust.members, task.spec)
    require_sealing_keys(task.spec, members, f"project {task.project}")
    return members


class UploadShares:
    """Shares the portions of one upload, and seals what opens them."""

    def __init__(self, context: StepContext, task: Task, members: tuple[Member, Member, Member], upload: str) -> None:
        self._identity, self._side = context.keyring.identity, context.party.side
        self._task, self._members, self._upload = task, members, upload
        self._secrets = ShareSecrets.fresh()
        self._sharing = Sharing(task.spec, SharedUpload(task.project, self._side, upload), self._secrets)

    def shared(self, portion: Portion[SignatureSet]) -> Portion[SentSet]:
        """The next portion, with its rows in the order that was drawn."""
        sent: list[SentSet] = []
        drawn: list[I64] = []
        at = 0
        for part in portion.sets:
            made, order = self._sharing.shared(part)
            sent.append(made)
            drawn.append(at + order)
            at += part.n_rows
        if not any(made.layout.is_shared and made.layout.blocks for made in sent):
            return Portion(tuple(sent), portion.order, portion.identifiers)
        rows = np.concatenate(drawn)
        own = pl.concat(portion.identifiers).gather(pl.Series(rows))
        return Portion(tuple(sent), portion.order[rows], iter([own]))

    def sealed_seeds(self, layout: Layout) -> tuple[bytes, ...]:
        """By compute party, what its shares of the upload are opened by."""
        sealed, task = [], self._task
        for party, member in zip(ComputeParty, self._members, strict=True):
            about = HeaderAbout(
                task.project, self._side, task.encoding_digest, task.epoch, self._upload, layout, member.name, party,
                task.spec.suite,
            )  # fmt: skip
            sealed.append(seal_header(self._identity, about, member.sealing, self._secrets.of(party)))
        return tuple(sealed)


_MAX_ROWS = 1 << 19
"""Rows of a unit at most; more are no quicker."""


@dataclass(frozen=True)
class Signed:
    """An upload that was written, and what is in it."""

    upload: Upload
    dummies: int


def sign_into(context: StepContext, task: Task, file: CleanedFile, seed: Seed, progress: Progress) -> Signed:
    memory = MemoryLimit(context.configuration.limits.memory_bytes)
    name = secrets.token_hex(16)
    members = computing(context, task)
    shares = None if members is None else UploadShares(context, task, members, name)
    sets: list[SetLayout] = []
    signed = dummies = 0
    named = read_known_files(context.configuration.known_files, task.spec, context.party.side)
    known = [known_set(each.places, each.counts, task.spec, seed, task.epoch) for each in named]
    made = portions(
        file, task.spec, seed, task.epoch, noise=context.state.noise_key(), make=context.state.working.table,
        memory=memory, progress=progress, known=known,
    )  # fmt: skip
    with context.state.uploads.writing(name) as files, closing(made):
        row_map = RowMapWriter(files.row_map.write, file.n_rows, task.spec.decoys)
        for portion in made if shares is None else map(shares.shared, made):
            _write(portion, files, row_map, keeps_codes=task.spec.latent is not None)
            sets += [part.layout for part in portion.sets]
            if portion.sets[0].layout.rule != CODES:
                signed += len(portion.order)
                dummies += int(np.count_nonzero(portion.order >= file.n_rows + task.spec.decoys))
            memory.check(f"project {task.project}")
    layout = Layout(tuple(sets), file.n_rows if task.spec.in_blocks else 0)
    manifest = Manifest(
        project=task.project,
        side=context.party.side,
        epoch=task.epoch,
        encoding_digest=task.encoding_digest,
        key_check_value=key_check_value(seed, task.project, task.encoding_digest, task.epoch),
        layout=layout,
        sealed_seeds=() if shares is None else shares.sealed_seeds(layout),
    )
    upload = Upload(
        id=name,
        project=task.project,
        epoch=task.epoch,
        manifest=manifest_to_wire(manifest).SerializeToString(deterministic=True),
        rows=signed,
        total_bytes=layout.total_bytes,
    )
    return Signed(context.state.uploads.add(upload, files, task.spec.retention.maps_days), dummies)


def _write(portion: Portion[Any], files: UploadFiles, row_map: RowMapWriter, *, keeps_codes: bool) -> None:
    for each in portion.sets:
        for part in sent_bytes(each):
            files.payload.write(part)
    first, begin = portion.sets[0], 0
    kept = first.variables if keeps_codes and isinstance(first, SignatureSet) and first.rule == CODES else {}
    for identifiers in portion.identifiers:
        rows = slice(begin, begin + len(identifiers))
        codes = {name: variable.codes[rows] for name, variable in kept.items()}
        row_map.add(identifiers, portion.order[rows], codes)
        begin += len(identifiers)


def portions(
    file: CleanedFile,
    spec: Specification,
    seed: Seed,
    epoch: int,
    *,
    noise: NoiseKey,
    make: MakeTable,
    memory: MemoryLimit,
    progress: Progress,
    known: Sequence[SignatureSet] = (),
) -> Generator[Portion[SignatureSet]]:
    """The sets of a file, in the order of the payload: as many at a time as fit into memory, or all at once.

    The sets of `known` come last; their rows are no records of the file.

    Raises `GemelError`: MEMORY if what must be held does not fit, as `encode_records`, and of the disk.
    """
    threads = processors()
    size = FileSize.of(file)
    require_room(size, spec, memory)
    if spec.in_blocks:
        rows = max(INTERVAL_ROWS, min(_MAX_ROWS, units_room(spec, size, memory) // unit_bytes(spec, size)))
        yield from encode_table(
            file.records, spec, seed, epoch, noise=noise, make=make, unit_rows=rows, threads=threads,
            progress=progress,
        )  # fmt: skip
    else:
        columns, identifiers = file.columns(spec), file.identifiers()
        if spec.decoys:
            columns = with_decoys(columns, spec, noise)
        encoded = encode_records(
            columns, spec, seed, epoch, noise=noise, variables=file.variables(), decoys=spec.decoys, threads=threads,
            progress=progress,
        )  # fmt: skip
        places = pl.Series(encoded.order)
        own = identifiers.gather(places.set(places >= file.n_rows, None))
        yield Portion(encoded.sets, encoded.order, iter([own]))
        del columns, encoded
    if known:
        yield Portion(tuple(known), np.empty(0, dtype=np.int64), iter(()))
