"""deploy/systemd: units that systemd understands, that start what exists, and that are confined."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.dockerfile import copied, stages
from tests.deploy.sites import COMMANDS, DEPLOY, REPOSITORY, SERVICES

UNITS = (*SERVICES, "compute@")
FOLDER = DEPLOY / "systemd"


def unit(party: str) -> dict[str, dict[str, list[str]]]:
    """Sections to keys to values, in order."""
    found: dict[str, dict[str, list[str]]] = {}
    section: dict[str, list[str]] = {}
    for line in (FOLDER / f"gemel-{party}.service").read_text().splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            section.setdefault(key, []).append(value)
    return found


def test_one_unit_per_service() -> None:
    assert sorted(path.name for path in FOLDER.glob("*.service")) == sorted(f"gemel-{name}.service" for name in UNITS)


@pytest.mark.parametrize("party", SERVICES)
def test_starts_its_party_as_its_own_user(party: str) -> None:
    service = unit(party)["Service"]
    assert service["ExecStart"] == [f"/opt/gemel/bin/python -m gemel.{party} --config /etc/gemel/{party}/{party}.yaml"]
    assert importlib.util.find_spec(f"{party}.__main__") is not None
    assert (DEPLOY / party / f"{party}.yaml").is_file()
    assert service["User"] == service["Group"] == [f"gemel-{party}"]
    users = [line.split()[:2] for line in (FOLDER / "gemel.conf").read_text().splitlines() if not line.startswith("#")]
    assert ["u", f"gemel-{party}"] in users
    # The layout of the configurations: what it keeps, and where compiled kernels go.
    assert service["StateDirectory"] == service["CacheDirectory"] == [f"gemel/{party}"]
    assert service["StateDirectoryMode"] == service["CacheDirectoryMode"] == ["0700"]
    assert f"NUMBA_CACHE_DIR=/var/cache/gemel/{party}" in service["Environment"][0].split()


@pytest.mark.parametrize("party", COMMANDS)
def test_computes_for_its_party_as_the_user_of_its_commands(party: str) -> None:
    found = {
        key: [value.replace("%i", party) for value in values] for key, values in unit("compute@")["Service"].items()
    }
    (start,) = found["ExecStart"]
    assert start == f"/opt/gemel/bin/python -u -m gemel compute --config /etc/gemel/{party}/{party}.yaml"
    assert found["User"] == found["Group"] == [party]
    assert f"useradd --create-home {party}" in (DEPLOY / "README.md").read_text().replace("coordinator", party)
    state = re.search(r"^state: /var/lib/(\S+)", (DEPLOY / party / f"{party}.yaml").read_text(), re.MULTILINE)
    assert state is not None
    assert found["StateDirectory"] == found["CacheDirectory"] == [state[1]]
    assert f"NUMBA_CACHE_DIR=/var/cache/gemel/{party}" in found["Environment"][0].split()


@pytest.mark.parametrize("name", SERVICES)
def test_two_units_differ_where_their_programs_do(name: str) -> None:
    """Their confinement is one text, from where it begins to the limits."""
    apart = "# Everything else is read-only", "# Keys are in memory"
    texts = [(FOLDER / f"gemel-{each}.service").read_text() for each in (name, "compute@")]
    first, second = (text[text.index(apart[0]) : text.index(apart[1])] for text in texts)
    assert first == second


@pytest.mark.parametrize("party", UNITS)
def test_is_confined(party: str) -> None:
    service = unit(party)["Service"]
    for key, value in {
        "NoNewPrivileges": "yes",
        "ProtectSystem": "strict",
        "ProtectHome": "yes",
        "PrivateTmp": "yes",
        "PrivateDevices": "yes",
        "CapabilityBoundingSet": "",
        "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX",
        "RestrictNamespaces": "yes",
        "SystemCallArchitectures": "native",
        "UMask": "0077",
        "LimitCORE": "0",
    }.items():
        assert service[key] == [value], key
    # Nothing of /etc, /srv or /opt is made writable again; numba compiles at run time.
    assert not {"ReadWritePaths", "BindPaths", "MemoryDenyWriteExecute"} & service.keys()


@pytest.mark.parametrize("party", ["alice", "bob", "carole", "coordinator"])
def test_what_is_gathered_is_what_the_image_of_the_party_holds(party: str, tmp_path: Path) -> None:
    """There is one list, in the Dockerfile; the tests read it by other means."""
    folder = tmp_path / "build"
    gather = [sys.executable, "-I", "-S", str(DEPLOY / "gather.py"), party, str(folder)]
    subprocess.run(gather, check=True)
    expected = {}
    for source, into in copied(stages(), f"build-{party}").items():
        path = REPOSITORY / source
        files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
        expected |= {str(Path(into) / file.relative_to(path)): file.read_bytes() for file in files}
    expected = {name: content for name, content in expected.items() if "__pycache__" not in name}
    found = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert found == expected
    again = subprocess.run(gather, check=False, capture_output=True, text=True)
    assert (again.returncode, again.stderr) == (1, f"{folder} exists: remove it, or name another folder\n")


ANALYZE = shutil.which("systemd-analyze")
IF_ANALYZED = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not on this machine")


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(ANALYZE), *words], capture_output=True, text=True, check=False, timeout=60)


@IF_ANALYZED
def test_systemd_understands_them(tmp_path: Path) -> None:
    copies = []
    for party in UNITS:
        text = (FOLDER / f"gemel-{party}.service").read_text().replace("/opt/gemel/bin/python", sys.executable)
        copies.append(tmp_path / f"gemel-{party}.service")
        copies[-1].write_text(text)
    ran = analyze("verify", *map(str, copies))
    if "Failed to" in ran.stderr and "gemel-" not in ran.stderr:
        pytest.skip(f"systemd-analyze does not work here: {ran.stderr.splitlines()[0]}")
    assert (ran.returncode, ran.stderr) == (0, "")


EXPOSURE = 1.5
"""The most that `systemd-analyze security` may find, of 10; it calls up to 2 OK. What is left is the network."""


@pytest.mark.parametrize("party", UNITS)
@IF_ANALYZED
def test_exposure_is_low(party: str) -> None:
    threshold = [f"--threshold={int(EXPOSURE * 10)}", "--offline=true", "--no-pager"]
    ran = analyze("security", *threshold, str(FOLDER / f"gemel-{party}.service"))
    if "Overall exposure level" not in ran.stdout:
        pytest.skip(f"systemd-analyze does not work here: {ran.stderr.splitlines()[0]}")
    assert ran.returncode == 0, ran.stdout
