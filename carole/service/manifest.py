"""Check of an upload's manifest against the project's specification, before any chunk is taken."""

from __future__ import annotations

from collections.abc import Sequence

from gemel.carole.projects.project import Project
from gemel.common.errors import ErrorCode, GemelError
from gemel.common.signatures.layout import (
    CODES,
    KNOWN,
    SAMPLES,
    Content,
    Layout,
    SetLayout,
    fixed_fields,
    known_layouts,
    sample_rows,
)
from gemel.common.specification import Specification, VariableSpec
from gemel.common.specification.model.blocking import MAX_ROWS as MAX_PADDED
from gemel.common.wire.manifest import Manifest

_REMEDY = "contribute again from the specification that all parties have approved"


def check_manifest(manifest: Manifest, project: Project, spec: Specification) -> None:
    """Refuse a contribution that was made for another specification, epoch or seed."""
    if manifest.encoding_digest != project.encoding_digest:
        raise _encoding(
            "manifest.encoding_digest",
            f"the specification's encoding digest is {project.encoding_digest[:8].hex()}...",
            f"{manifest.encoding_digest[:8].hex()}...",
        )
    if manifest.epoch != project.epoch:
        what = f"the project is in epoch {project.epoch}, and epochs cannot be mixed"
        remedy = "sign the records again with the seed of the project's current epoch"
        raise GemelError(ErrorCode.EPOCH_MISMATCH, what, where="manifest.epoch", got=str(manifest.epoch), remedy=remedy)
    report = project.reports.get(manifest.side)
    if report is not None and report.key_check_value != manifest.key_check_value:
        what = "the contribution was not signed with the seed that both custodians have agreed on"
        got = f"a value other than this custodian reported in epoch {project.epoch}"
        remedy = "sign the records again with the agreed seed"
        raise GemelError(ErrorCode.KEY_MISMATCH, what, where="manifest.key_check_value", got=got, remedy=remedy)
    # In mode block_keyed there is a set for every rule, the samples and the codes; otherwise one set serves every rule.
    separate = spec.in_blocks
    if manifest.layout.is_shared is not (spec.mode == "shared"):
        shared = manifest.layout.is_shared
        what = f"rows are {'not ' if shared else ''}shared in mode {spec.mode}"
        raise _encoding("manifest.sets", what, "shares" if shared else "sets without shares")
    of_file = [*[rule.name for rule in spec.keyed_rules], SAMPLES, *([CODES] if spec.variables else [])]
    known = {part.rule: part for part in known_layouts(spec, manifest.side)}
    sets = [*(of_file if separate else [""]), *known]
    found = [part.rule for part in manifest.layout.sets if part.interval.number == 0]
    _same("manifest.sets", "signature sets for rules", found, sets)
    _check_records(manifest.layout, spec, separate=separate)
    for place, part in enumerate(manifest.layout.sets):
        where = f"manifest.sets[{place}]"
        if part.rule in known:
            _check_known(part, where, known[part.rule], spec)
            continue
        if part.rule != CODES:
            _check_set(part, where, spec)
        _check_variables(part, where, () if separate and part.rule != CODES else spec.variables_of(manifest.side))


def _check_known(part: SetLayout, where: str, expected: SetLayout, spec: Specification) -> None:
    """Training records, or cells of a joint distribution: as many as the file has that all parties have approved."""
    if part.rows != expected.rows:
        what = f"{expected.rows} rows of the file that the specification names"
        raise _encoding(where, what, str(part.rows))
    _check_variables(part, where, spec.value_variables)


def _check_records(layout: Layout, spec: Specification, *, separate: bool) -> None:
    if (layout.records > 0) is not separate:
        what = "the number of records must be given in mode block_keyed, and only there"
        raise _encoding("manifest.records", what, str(layout.records))
    if not separate:
        if layout.sets[0].rows <= spec.decoys:
            what = f"a contribution has records beside its {spec.decoys} decoys"
            raise _encoding("manifest.sets", what, f"{layout.sets[0].rows} rows")
        return
    place = next(place for place, part in enumerate(layout.sets) if part.rule == SAMPLES)
    sample, rows = layout.sets[place], sample_rows(layout.records)
    if sample.rows != rows:
        what = f"the samples of a file of {layout.records} records have {rows} rows"
        raise _encoding(f"manifest.sets[{place}]", what, str(sample.rows))
    maximum = (layout.records + spec.decoys) * (1 if spec.padding is None else MAX_PADDED)
    for rule, of_rule in layout.rule_rows.items():
        if rule not in (SAMPLES, *KNOWN) and of_rule > maximum:
            what = f"at most {maximum} rows under a rule, by {layout.records} records, {spec.decoys} decoys and padding"
            raise _encoding("manifest.sets", what, str(of_rule))


def _check_set(part: SetLayout, where: str, spec: Specification) -> None:
    fields = [field.name for field in spec.fields]
    _same(f"{where}.fields", "fields", [field.name for field in part.fields], fields)
    rules = [] if part.rule == SAMPLES else [rule.name for rule in spec.keyed_rules]
    if spec.mode == "shared":
        others = [rule for rule in rules if rule != part.rule]
        _same(f"{where}.tag_rules", "shared tags", part.tags or (), others)
        rules = [rule for rule in rules if rule == part.rule]
    _same(f"{where}.block_rules", "blocking rules", part.blocks, rules)
    for field in part.fields:
        expected = _content(part.rule, field.name, spec)
        if field.content != expected:
            what = f"expected {expected} under this rule in mode {spec.mode}"
            raise _encoding(f"{where}.fields.{field.name}", what, field.content)
        bits = spec.field(field.name).bits
        if field.bits != bits:
            raise _encoding(f"{where}.fields.{field.name}", f"signatures have {bits} bits", str(field.bits))


def _content(rule: str, field: str, spec: Specification) -> Content:
    """The content that a field has in a set: nothing is sent of what the rule fixes, or in mode shared withholds."""
    if spec.mode == "trusted":
        return "values"
    of_rule = {each.name: each for each in spec.keyed_rules}.get(rule) if spec.in_blocks else None
    shared = spec.mode == "shared"
    if of_rule is not None and field in of_rule.withheld:
        return "withheld" if shared else "signatures"
    if of_rule is not None and field in fixed_fields(of_rule, spec):
        return "fixed"
    return "shared" if shared else "signatures"


def _check_variables(part: SetLayout, of_set: str, held: Sequence[VariableSpec]) -> None:
    where = f"{of_set}.variables"
    _same(where, "variables", [variable.name for variable in part.variables], [variable.name for variable in held])
    for found, variable in zip(part.variables, held, strict=True):
        if found.categories != len(variable.categories):
            what = f"expected {len(variable.categories)} categories"
            raise _encoding(f"{where}.{variable.name}", what, str(found.categories))


def _same(where: str, what: str, found: Sequence[str], expected: Sequence[str]) -> None:
    if list(found) != list(expected):
        # Missing names are the specification's; surplus names are the sender's text: only their number is shown.
        missing = [name for name in expected if name not in found]
        surplus = sum(name not in expected for name in found)
        got = f"{len(missing)} missing and {surplus} others" if missing or surplus else "another order"
        named = f" ({', '.join(map(repr, missing[:5]))} missing)" if missing else ""
        raise _encoding(where, f"expected {len(expected)} {what}{named}, as in the specification", got)


def _encoding(where: str, what: str, got: str) -> GemelError:
    return GemelError(ErrorCode.ENCODING_MISMATCH, what, where=where, got=got, remedy=_REMEDY)
