"""The bounds of pyproject.toml, the oldest versions that are tried, and those everything is tested with."""

from __future__ import annotations

import tomllib
from importlib.metadata import version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OF_IMAGES = tuple(
    line for extra in ("cluster", "objects", "pkcs11", "postgres", "records", "vault") for line in EXTRAS[extra]
)
"""The extras that the images of services have."""
PROMISED = [
    Requirement(line)
    for line in (*PROJECT["dependencies"], *EXTRAS["report"], *EXTRAS["console"], *EXTRAS["adbc"], *OF_IMAGES)
]


RARE = {
    *("adbc-driver-manager", "adbc-driver-postgresql", "adbc-driver-sqlite", "dask", "distributed", "fastexcel"),
    *("hvac", "obstore", "psycopg", "pyarrow", "pyreadstat", "python-pkcs11"),
}
"""Of extras that few installations have."""


def pinned(name: str) -> dict[str, Version]:
    """Versions of a file of constraints, all of them exact."""
    found = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            package, sign, number = line.partition("==")
            assert sign, line
            found[canonicalize_name(package)] = Version(number)
    return found


def test_a_lower_bound_is_the_version_that_is_tried() -> None:
    oldest, newest = pinned("constraints-oldest.txt"), pinned("constraints.txt")
    for requirement in PROMISED:
        (bound,) = requirement.specifier
        name = canonicalize_name(requirement.name)
        assert bound.operator == ">=", name
        assert oldest[name] == Version(bound.version) <= newest[name], name


def test_the_base_is_what_the_services_need_and_no_more() -> None:
    """The packages of a service's image are listed; a test compares the list with its imports."""
    listed = {
        canonicalize_name(Requirement(line).name)
        for name in ("custodian", "carole")
        for line in (ROOT / f"deploy/requirements/{name}.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    }
    needed = (*PROJECT["dependencies"], *OF_IMAGES)
    assert {canonicalize_name(Requirement(line).name) for line in needed} == listed


def test_generated_code_accepts_the_lower_bounds() -> None:
    text = (ROOT / "protos/linkage/v1/custody_pb2.py").read_text(encoding="utf-8")
    made = next(line.rpartition(" ")[2] for line in text.splitlines() if line.startswith("# Protobuf Python Version:"))
    stubs = (ROOT / "protos/linkage/v1/custody_pb2_grpc.py").read_text(encoding="utf-8")
    grpc = next(line.split("'")[1] for line in stubs.splitlines() if line.startswith("GRPC_GENERATED_VERSION"))
    oldest = pinned("constraints-oldest.txt")
    assert oldest["protobuf"] >= Version(made)
    assert oldest["grpcio"] >= Version(grpc)


def test_what_runs_is_within_the_bounds() -> None:
    for requirement in PROMISED:
        if requirement.name not in RARE:
            assert Version(version(requirement.name)) in requirement.specifier
