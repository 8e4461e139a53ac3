"""What is installed is known: locks with hashes, a wheel that is the same each time, a bill of materials."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.deploy.dockerfile import requirements
from tests.deploy.machine import requirements as locked
from tests.deploy.sites import DEPLOY, REPOSITORY

FOLDER = DEPLOY / "requirements"
LOCKS = ("carole", "coordinator", "custodian")
BILL = REPOSITORY / ".venv-audit/bin/cyclonedx-py"


def text(name: str) -> str:
    return (FOLDER / f"{name}.lock").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_a_hash_for_everything_and_names_no_place(name: str) -> None:
    entries = text(name).replace("\\\n", " ").splitlines()
    assert len(entries) > 25
    for entry in entries:
        assert re.fullmatch(r"[\w.\[\],-]+==\S+( ; [^:]+?)? +(--hash=sha256:[0-9a-f]{64} *)+", entry), entry
    assert not re.search(r"://|index|find-links|trusted", text(name))


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_the_versions_that_everything_is_tested_with(name: str) -> None:
    tested = {}
    for line in (REPOSITORY / "constraints.txt").read_text().splitlines():
        if not line.startswith("#"):
            package, _, version = line.partition("==")
            tested[canonicalize_name(package)] = version
    for requirement in locked(text(name)):
        assert str(requirement.specifier) == f"=={tested[canonicalize_name(requirement.name)]}", "run `make locks`"


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_is_all_that_its_list_requires_and_nothing_else(name: str) -> None:
    """Followed through the metadata of the installed packages, by other means than those that made the lock."""
    if name == "coordinator":
        extra = re.compile(r"extra == ['\"](\w+)")
        wanted = [
            line
            for line in distribution("gemel").requires or ()
            if (named := extra.search(line)) is None or named[1] in ("console", "records", "report")
        ]
    else:
        wanted = list(requirements(FOLDER / f"{name}.txt"))
    pending = [Requirement(line.partition(";")[0]) for line in (*wanted, *requirements(FOLDER / "build.txt"))]
    found: set[tuple[str, str]] = set()
    while pending:
        requirement = pending.pop()
        package = canonicalize_name(requirement.name)
        for extra in ("", *requirement.extras):
            if (package, extra) in found:
                continue
            found.add((package, extra))
            for line in distribution(package).requires or ():
                needed = Requirement(line)
                if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                    pending.append(needed)
    expected = {package for package, _ in found}
    assert {canonicalize_name(requirement.name) for requirement in locked(text(name))} == expected


def test_a_wheel_built_twice_is_the_same(tmp_path: Path) -> None:
    """Of Alice's installation, in two folders whose files have other times, with the time that the page names."""
    digests = set()
    for number, time in enumerate((1_000_000_000, 1_700_000_000)):
        folder, out = tmp_path / f"source-{number}", tmp_path / f"wheel-{number}"
        subprocess.run([sys.executable, str(DEPLOY / "gather.py"), "alice", str(folder)], check=True)
        for file in folder.rglob("*"):
            os.utime(file, (time, time))
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
        subprocess.run(
            [*build, "--wheel-dir", str(out), str(folder)],
            check=True,
            env={**os.environ, "SOURCE_DATE_EPOCH": "1767225600"},
        )
        (wheel,) = out.iterdir()
        digests.add((wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest()))
    assert len(digests) == 1


def test_the_bill_of_materials_is_the_lock(tmp_path: Path) -> None:
    if not BILL.exists():
        pytest.skip("what makes a bill of materials is not installed: make .venv-audit")
    command = [shutil.which("make") or "make", "--silent", "sbom", f"SBOM={tmp_path}", "LOCKS=custodian"]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    bill = json.loads((tmp_path / "custodian.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    everywhere = {
        (canonicalize_name(line.partition("==")[0].partition("[")[0]), line.partition("==")[2].split()[0])
        for line in text("custodian").splitlines()
        if "==" in line and not line.startswith(" ")
    }
    assert {(canonicalize_name(one["name"]), one["version"]) for one in bill["components"]} == everywhere
