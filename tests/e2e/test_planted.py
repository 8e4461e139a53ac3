"""No record value and no secret where it must not be.

`tests.e2e.linked` runs a whole linkage, and much that fails, with values in both files that occur nowhere else and with
a known seed. Here every file that came of it is searched for them: Carole's database with its write-ahead log, her
blobs, the custodians' state folders, temporary files, the logs and output of all processes, what commands printed, the
statistics and the report. Each search has a control that it finds what is really there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gemel.common.keys.derivation import Purpose, derive
from gemel.common.parties import Side
from gemel.common.specification import encoding_digest, load_specification
from gemel.custodian.configuration import load_custodian
from gemel.custodian.state.custodian_state import State
from gemel.custodian.state.row_map import Keyring, unpack_map
from tests.e2e.deployment import CUSTODIANS
from tests.e2e.linked import PROJECT, TEXT, Linked
from tests.e2e.traces import (
    IDENTIFIERS,
    PLANTED,
    files,
    forms_of_secret,
    forms_of_text,
    occurrences,
    private_values,
)

VALUES = [value for column in PLANTED.values() for value in column]
KEYS = ("tls", "identity", "sealing", "wrapping")


@pytest.fixture(scope="module")
def found(linked: Linked) -> dict[str, set[Path]]:
    needles = {value: forms_of_text(value) for value in (*VALUES, *IDENTIFIERS["alice"], *IDENTIFIERS["bob"])}
    needles["seed"] = forms_of_secret(linked.seed.reveal())
    spec = load_specification(TEXT)
    for field in spec.fields:
        for purpose in Purpose:
            keys = derive(linked.seed, PROJECT, purpose, encoding_digest(spec), field.key_domain)
            needles[f"{purpose} keys of {field.name}"] = forms_of_secret(keys.k1) | forms_of_secret(keys.k2)
    for party, folder in linked.made.folders.items():
        for key in KEYS:
            for number, value in enumerate(private_values(folder / f"{key}.key")):
                needles[f"{party}'s {key} key {number}"] = forms_of_secret(value)
    return occurrences(linked.made.root, needles)


def data(side: Side) -> Path:
    return Path("data") / f"{side}.csv"


def test_values_stay_in_the_files_they_were_read_from(found: dict[str, set[Path]]) -> None:
    for value in VALUES:
        assert found[value] == {data(side) for side in Side}, value


def test_an_identifier_is_in_its_custodians_own_results_and_nowhere_else(
    found: dict[str, set[Path]], linked: Linked
) -> None:
    for side in Side:
        share = linked.share(side).relative_to(linked.made.root)
        tables = {"links.csv", "links.parquet"} | ({"pairs.parquet"} if side is Side.BOB else {"draws.parquet"})
        for identifier in IDENTIFIERS[side]:
            assert found[identifier] == {data(side), *(share / table for table in tables)}


def test_the_seed_is_in_the_seed_files_and_nowhere_else(found: dict[str, set[Path]]) -> None:
    assert found["seed"] == {Path("parties") / side / "exchanged.seed" for side in Side}


def test_derived_keys_are_nowhere(found: dict[str, set[Path]]) -> None:
    derived = [name for name in found if " keys of " in name]
    assert len(derived) > 10
    assert not any(found[name] for name in derived)


def test_private_keys_are_in_their_own_files_and_nowhere_else(found: dict[str, set[Path]], linked: Linked) -> None:
    names = [name for name in found if "'s " in name]
    # A sealing key is two: of ML-KEM-768, then of X25519.
    assert len(names) == len(linked.made.folders) * (len(KEYS) + 1)
    for name in names:
        party, key = name.split("'s ")
        own = Path("parties") / party / f"{key.split(' ')[0]}.key"
        # Some PEM breaks its lines within the number; `private_values` has read it there.
        assert found[name] <= {own}, name
        if "tls" not in key and key != "sealing key 0":
            assert found[name] == {own}, name


def test_what_was_searched_is_what_there_is(linked: Linked) -> None:
    """The control of the places: each kind of file is there, and the logs name what went wrong."""
    root = linked.made.root
    searched = {str(path.relative_to(root)) for path in files(root)}
    assert "parties/carole/store/carole.db" in searched
    assert any(name.startswith("parties/carole/store/blobs/") for name in searched)
    for side in Side:
        assert f"parties/{side}/state/custodian.sqlite" in searched
    logs = {name: (linked.made.logs / f"{name}.log").read_text(errors="replace") for name in ("alice", "bob", "carole")}
    for code in ("SOURCE", "TEXT_ENCODING"):
        assert code in logs["alice"]
    for code in ("FIELD_MISSING", "DUPLICATE_IDENTIFIER"):
        assert code in logs["bob"]
    for event in ("refused", "run failed", "MEMORY", "worker"):
        assert event in logs["carole"]


def test_the_identifiers_are_kept_and_encrypted(linked: Linked) -> None:
    """The control of the state folders: opened with the custodian's key, its map holds every planted identifier."""
    for side, party in CUSTODIANS.items():
        configuration = load_custodian(linked.made.configs[side])
        state = State(configuration.state, Keyring.load(configuration, party).vault)
        try:
            upload = state.uploads.newest(PROJECT)
            assert upload is not None
            assert set(IDENTIFIERS[side]) <= set(unpack_map(state.uploads.row_map(upload)))
        finally:
            state.close()


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    """The control of the forms: each way of writing a value down is found, whatever stands around it."""
    import base64

    value, key = VALUES[0], bytes(range(7, 39))
    ways = {
        "plain": f"surname={value}".encode(),
        "cleaned": value.lower().encode(),
        "wide": f"x{value}".encode("utf-16"),
        "digits": value.encode().hex().encode(),
        **{f"base64-{n}": base64.b64encode(b"x" * n + value.encode() + b"yz") for n in range(3)},
    }
    secret_ways = {
        "raw": b"x" + key,
        "hex": key.hex().encode(),
        "repr": repr(key).encode(),
        **{f"secret64-{n}": base64.b64encode(b"x" * n + key + b"yz") for n in range(3)},
    }
    for name, content in {**ways, **secret_ways}.items():
        (tmp_path / name).write_bytes(content)
    hits = occurrences(tmp_path, {"value": forms_of_text(value), "key": forms_of_secret(key)})
    assert hits["value"] == set(map(Path, ways))
    assert hits["key"] == set(map(Path, secret_ways))
