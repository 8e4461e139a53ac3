"""The leakage benchmark's section on the samples from which mode block_keyed estimates u."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks._leakage_study import ABOVE_CHANCE, NAMES, Line, Study
from gemel.common.keys.derivation import Purpose, derive
from gemel.common.signatures.layout import GROUP_ROWS, GROUPS
from gemel.common.signatures.signature_sets import FieldSignatures
from gemel.common.specification import FieldSpec
from gemel.custodian.encoding.columns import file_order
from gemel.custodian.encoding.file_records import HeldRecords
from gemel.custodian.encoding.minhash import signatures
from gemel.custodian.encoding.records import Encoding
from gemel.custodian.encoding.samples import grouped
from gemel.custodian.leakage.block_model import block_likelihood
from gemel.custodian.leakage.block_view import attack_by_size
from gemel.custodian.leakage.leakage_assessment import MIN_VALUES, group_alignment, groups_view
from gemel.custodian.leakage.own_whole import public_values, truth_of
from gemel.custodian.leakage.recovery import score
from gemel.custodian.leakage.similarity_graph import similarity_graph_alignment
from gemel.custodian.leakage.view import FieldView
from gemel.custodian.tokens import tokenise

ATTACKED = 1280
"""Values of each field attacked, in whole groups."""

ROWS_UNDER_ONE_KEY, SAMPLES_UNDER_ONE_KEY = 2_000, 6
"""Values of a sample not cut into groups; and samples attacked: of some nearly all is read, of others nothing."""

READ = {"given_name": 0.75, "surname": 0.27}
"""Required of the attack on those, or it would show nothing of smaller groups."""

PATIENTLY = 3_200
"""Values of each field attacked by the slower attack."""

LARGE, OF_LARGE = 5_000, 640
"""Values from which on a dictionary is large, and values then attacked by it: chance finds next to nothing among so
many candidates, which half as many show as well."""


def samples(study: Study) -> Iterator[Line]:
    """Samples under one key, the groups that are sent, and what larger groups or longer signatures would give away."""
    for field in NAMES:
        yield under_one_key(study, field)
    yield from as_sent(study)
    for size, bits in ((100, 1024), (200, 1024), (GROUP_ROWS, 8192)):
        yield not_sent(study, "given_name", size, bits)


def under_one_key(study: Study, name: str) -> Line:
    """The positive control."""
    public, begin = study.public[name], time.monotonic()
    sent = [_signed(study, study.drafted.field(name), ROWS_UNDER_ONE_KEY, 1024) for _ in range(SAMPLES_UNDER_ONE_KEY)]
    guesses = np.concatenate([similarity_graph_alignment(view, public) for view, _ in sent])
    truth = np.concatenate([public.places(values) for _, values in sent])
    found = score("", name, guesses, truth, np.concatenate([view.counts for view, _ in sent]), 0)
    what = (
        f"{name}, {SAMPLES_UNDER_ONE_KEY} samples of {ROWS_UNDER_ONE_KEY:,} values under one key (not what is sent):"
        " counts and similarities"
    )
    return Line.of(what, found, minimum=READ[name], seconds=time.monotonic() - begin)


def as_sent(study: Study) -> Iterator[Line]:
    """Every field's groups; of what is no name the attacker knows all values of the file, and about how common each."""
    order = study.rng.permutation(study.n)
    columns = {name: column.gather(order) for name, column in study.columns.items()}
    spec = study.specified()
    encoding = Encoding(spec, study.fresh_seed(), 1, study.fresh_noise(), shuffle=file_order)
    part = encoding.samples(HeldRecords(columns))
    rows = grouped(study.n, lambda _: file_order(study.n)).ravel()
    for field in spec.fields:
        public = study.public.get(field.name) or public_values(columns[field.name], field, study.rng)
        assert public is not None
        truth = truth_of(part, field.name, columns[field.name], rows, public)
        groups = groups_view(part.fields[field.name], GROUPS, field.randomised_response)
        few = columns[field.name].n_unique() < MIN_VALUES
        patiently = OF_LARGE if len(public) > LARGE and field.name not in NAMES else PATIENTLY
        attacks = ("likelihood", block_likelihood, ATTACKED), ("slow mean field", group_alignment, patiently)
        for how, attack, n_values in attacks:
            begin = time.monotonic()
            found, _ = attack_by_size("", field.name, attack, groups, public, truth, study.rng, n_values)
            what = f"{field.name}, {GROUPS} groups of {GROUP_ROWS} values: {how}"
            yield Line.of(what, found, above_chance=None if few else ABOVE_CHANCE, seconds=time.monotonic() - begin)


def not_sent(study: Study, name: str, size: int, bits: int) -> Line:
    """The slow attack on groups of another size, or under longer signatures."""
    field, public, begin = study.drafted.field(name), study.public[name], time.monotonic()
    n_groups = max(1, PATIENTLY // size)
    tables: list[NDArray[np.uint64]] = []
    codes: list[NDArray[np.int32]] = []
    truths = []
    for _ in range(n_groups):
        view, values = _signed(study, field, size, bits)
        codes.append(np.repeat(np.arange(len(values), dtype=np.int32), view.counts) + sum(map(len, tables)))
        tables.append(view.signatures)
        truths.append(public.places(values))
    groups = groups_view(FieldSignatures(bits, np.concatenate(tables), np.concatenate(codes)), n_groups)
    found, _ = attack_by_size("", name, group_alignment, groups, public, np.concatenate(truths), study.rng, 10**9)
    what = f"{name}, groups of {size} values, {bits} bits (not what is sent): slow mean field"
    return Line.of(what, found, seconds=time.monotonic() - begin)


def _signed(study: Study, field: FieldSpec, size: int, bits: int) -> tuple[FieldView, list[str]]:
    """Some values of a field under a key, and what they are."""
    column = study.columns[field.name].drop_nulls()
    counted = Counter(column.gather(study.rng.permutation(len(column))[:size]).to_list())
    keys = derive(study.fresh_seed(), "people", Purpose.SAMPLE, bytes(32), field.name)
    signed = signatures(tokenise(list(counted), field.tokens), keys, bits)
    return FieldView(signed, np.array(list(counted.values()), dtype=np.int64)), list(counted)
