"""Two digests of a specification, by which the parties check that they have the same one.

The *encoding digest* covers what decides how a value becomes a signature: two custodians with different ones must
not be linked, and it enters their keys. The *specification digest* covers everything and enters approvals and
releases. A new threshold changes the second alone, so no custodian has to sign its records again for it.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from typing import Any

from gemel.common.specification.model.blocking import BlockingRule
from gemel.common.specification.model.fields import FieldSpec
from gemel.common.specification.model.protection import partitions
from gemel.common.specification.model.variables import VariableSpec
from gemel.common.specification.validation.specification import Specification
from gemel.common.versions import CLEANING_EDITION

_ENCODING = b"gemel encoding digest 1\0"
_SPECIFICATION = b"gemel specification digest 1\0"


def encoding_digest(spec: Specification) -> bytes:
    """SHA-256, 32 bytes, over what decides the signatures and blocking keys.

    Covers the version, the mode, each field's name, kind, cleaning, date format, tokens, bits and key domain (all
    defaults filled in), the keys of the blocking rules, the category variables where there are any (name, holder,
    categories in their order, missing codes), and the edition of the cleaning steps with the version of the Unicode
    tables of this Python: a letter that one custodian's table has and the other's does not is cleaned differently. In
    mode block_keyed the rules' order, the fields they are split by and those they withhold decide signatures too. So do
    tables of categorisation, salts, lists of similar values, the probability of randomised response, the padding of
    blocks and the number of decoys, where there are any, the groups of categories that `assessment.protect` names, the
    files of training records and of a known joint distribution that are sent with the signatures, in mode shared the
    members who compute, and the suite of algorithms where it is not the default.
    Column names, identifiers, roles, levels, thresholds, retention and the blocking rules that Carole forms from the
    signatures do not enter.
    """
    content: dict[str, Any] = {
        "version": spec.version,
        "mode": spec.mode,
        "fields": [_encoded_part(field) for field in spec.fields],
        "blocking": [rule.model_dump(mode="json", include=_rule_parts(spec, rule)) for rule in spec.keyed_rules],
        "cleaning": CLEANING_EDITION,
        "unicode": unicodedata.unidata_version,
    }
    if spec.padding is not None:
        content["padding"] = spec.padding
    if spec.decoys:
        content["decoys"] = spec.decoys
    if spec.cryptography != "default":
        content["cryptography"] = spec.cryptography
    if spec.mode == "shared":
        # What opens the shares is sealed to these members, once: for others a custodian contributes again.
        content |= spec.model_dump(mode="json", include={"compute"})
    if spec.variables:
        content["variables"] = [{**_coded_part(v), **_grouped_part(spec, v)} for v in spec.variables]
    if spec.latent is not None and spec.latent.files:
        # A custodian sends them with its signatures, once: other files, or other columns of them, are another encoding.
        known = {name: getattr(spec.latent, name) for name in ("training", "joint")}
        content["known"] = {name: file.model_dump(mode="json") for name, file in known.items() if file is not None}
        content["known"]["columns"] = [variable.name for variable in spec.value_variables]
    return hashlib.sha256(_ENCODING + canonical_json(content)).digest()


def specification_digest(spec: Specification) -> bytes:
    """SHA-256 over the whole specification, all defaults filled in. Comments, the order of keys and whether a default
    was written out do not change it."""
    return hashlib.sha256(_SPECIFICATION + canonical_json(spec.model_dump(mode="json"))).digest()


def canonical_json(content: object) -> bytes:
    """The one JSON text of a value: keys sorted, no blanks, UTF-8, shortest floats that read back the same."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def _rule_parts(spec: Specification, rule: BlockingRule) -> set[str]:
    if not spec.in_blocks:
        return {"name", "keys"}
    return {"name", "keys", "split", *(["withheld"] if rule.withheld else [])}


def _encoded_part(field: FieldSpec) -> dict[str, Any]:
    return {
        "name": field.name,
        "kind": field.kind,
        "clean": list(field.clean),
        # Sets in meaning: their order decides nothing.
        "stop_words": sorted(field.stop_words),
        "missing": sorted(field.missing_codes),
        "date": field.date.model_dump(mode="json", exclude_none=True) if field.date is not None else None,
        "tokens": field.tokens,
        "bits": field.bits,
        "key_domain": field.key_domain,
        **({"randomised_response": field.randomised_response} if field.randomised_response else {}),
        **_harmonised_part(field),
        **_held_back(field),
    }


def _held_back(field: FieldSpec) -> dict[str, Any]:
    salt = {} if field.salt is None else {"salt": field.salt.model_dump(mode="json")}
    return {**salt, "only_similar": sorted(field.only_similar)} if field.only_similar else salt


def _coded_part(variable: VariableSpec) -> dict[str, Any]:
    return {
        "name": variable.name,
        "holder": variable.holder,
        "categories": list(variable.places),
        "missing": sorted(variable.missing_codes),
        **_harmonised_part(variable),
    }


def _grouped_part(spec: Specification, variable: VariableSpec) -> dict[str, Any]:
    """The groups that the order of a variable's codes follows, where it may be coarsened; not their names."""
    if not (found := partitions(spec.coarsenings(variable.name), variable.categories)):
        return {}
    return {"groups": [[groups.index(group) for group in groups] for groups in found]}


def _harmonised_part(of: FieldSpec | VariableSpec) -> dict[str, Any]:
    if not of.categorisation:
        return {}
    return {"categorisation": [row.model_dump(mode="json") for row in of.categorisation]}
