"""Each image holds its own party and nothing of the others, and what it holds is enough."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from gemel.coordinator.provisioning import provision
from tests.deploy.dockerfile import (
    OWN,
    copied,
    distributions,
    imports,
    lineage,
    module,
    python_files,
    requirements,
    stages,
)  # fmt: skip
from tests.deploy.machine import requirements as locked
from tests.deploy.sites import DEPLOY, NOBODY, PARTIES, PORTS, REPOSITORY, SERVICES, until
from tests.ports import free_port

STAGES = stages()
PACKAGING = {"pyproject.toml", "README.md", "LICENSE", "NOTICE"}
NAME = {"gemel/__init__.py", "gemel/__main__.py", "gemel/command.py", "gemel/ended_in_order.py"}
PROBE = {"deploy/ready.py"}
LISTS = {"alice": "custodian", "bob": "custodian", "carole": "carole"}


def test_there_is_a_target_per_party() -> None:
    assert set(PARTIES) <= set(STAGES)


@pytest.mark.parametrize("party", ["alice", "bob"])
def test_a_custodians_image_holds_no_other_partys_code(party: str) -> None:
    rooms = {"protos", "common", "party", "records", "serving", "custodian", party}
    assert set(copied(STAGES, party)) == PACKAGING | NAME | PROBE | rooms | {"deploy/requirements/custodian.lock"}


def test_caroles_image_holds_her_service_and_no_commands_of_the_coordinators() -> None:
    paths = set(copied(STAGES, "carole"))
    tops = {path.partition("/")[0] for path in paths - PACKAGING - NAME}
    assert tops == {"protos", "common", "party", "records", "risk", "serving", "shared", "carole", "deploy"}
    assert not any(path == "carole" or path.startswith("coordinator") for path in paths)
    # Every package of hers that is there is imported by something outside of itself.
    files = list(python_files(paths - PACKAGING))
    for package in (path for path in paths if re.fullmatch(r"carole/[a-z_]+", path)):
        name = "gemel." + package.replace("/", ".")
        users = (file for file in files if not str(file).startswith(f"{package}/"))
        assert any(used == name or used.startswith(f"{name}.") for file in users for used in imports(file)), name


@pytest.mark.parametrize("party", PARTIES)
def test_whatever_is_imported_is_copied(party: str) -> None:
    files = list(python_files(set(copied(STAGES, party)) - PACKAGING))
    there = {module(file) for file in files}
    # They name what a reader's program may use, and import it when it is used.
    files = [file for file in files if str(file) not in ("gemel/__init__.py", "risk/__init__.py")]
    everywhere = {module(file) for file in python_files(OWN)}
    missing = {(str(file), name) for file in files for name in imports(file) & everywhere - there}
    assert not missing, "copy it in deploy/Dockerfile"


def test_everything_that_is_copied_exists_and_is_let_through() -> None:
    ignore = (DEPLOY / "Dockerfile.dockerignore").read_text().split("\n")
    let_through = {line[1:] for line in ignore if line.startswith("!")}
    assert "*" in ignore
    for party in PARTIES:
        for path in copied(STAGES, party):
            assert (REPOSITORY / path).exists()
            assert path in let_through or any(path.startswith(f"{entry}/") for entry in let_through)


def test_no_address_is_named() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    assert "://" not in text
    assert not re.search(r"--(index-url|extra-index-url|find-links|trusted-host)|^ADD ", text, re.MULTILINE)
    bases = {stage.base for stage in STAGES.values()} - set(STAGES)
    assert bases == {"${PYTHON}"}
    assert re.findall(r"^ARG PYTHON=(\S+)$", text, re.MULTILINE) == ["python:3.11-slim"]


def test_every_installation_is_of_known_files() -> None:
    runs = [run for stage in STAGES.values() for run in stage.of("RUN") if "pip install" in run]
    assert len(runs) == 7
    for run in runs:
        assert "--require-hashes --requirement requirements.txt" in run or "--no-deps --no-build-isolation ." in run
        assert "--no-compile" in run
        # Byte code with times in it would differ from build to build.
        assert "compileall" not in run or "--invalidation-mode unchecked-hash" in run


def test_only_the_commands_image_draws_charts() -> None:
    """It writes reports; the locks of the others have what their code imports."""
    drawing = [path.stem for path in (DEPLOY / "requirements").glob("*.lock") if "altair==" in path.read_text()]
    assert drawing == ["coordinator"]


@pytest.mark.parametrize("party", PARTIES)
def test_runs_as_a_user_without_privileges(party: str) -> None:
    final = STAGES[party]
    assert final.of("USER") == ["10001:10001"]
    whole = lineage(STAGES, party)
    assert any("--uid 10001" in run for stage in whole for run in stage.of("RUN"))
    assert any("NUMBA_CACHE_DIR=/var/cache/gemel" in line for stage in whole for line in stage.of("ENV"))
    # What is copied from the build belongs to root: the service cannot change its own code.
    assert all("--chown" not in line for stage in whole for line in stage.of("COPY"))


@pytest.mark.parametrize("party", SERVICES)
def test_starts_its_party_with_its_configuration(party: str) -> None:
    path = f"/etc/gemel/{party}/{party}.yaml"
    (command,) = STAGES[party].of("CMD")
    assert json.loads(command) == ["python", "-m", f"gemel.{party}", "--config", path]
    (check,) = STAGES[party].of("HEALTHCHECK")
    words = json.loads(check[check.index("CMD ") + 4 :])
    assert words == ["python", "-I", "-S", "/opt/ready.py", str(PORTS[party])]
    assert f'listen: "127.0.0.1:{PORTS[party]}"' in (DEPLOY / party / f"{party}.yaml").read_text()
    if party != "carole":
        assert STAGES[party].of("ENV") == [f"GEMEL_{party.upper()}={path}"]


@pytest.mark.parametrize("party", SERVICES)
def test_the_list_of_packages_is_what_the_code_imports(party: str) -> None:
    files = [file for file in python_files(set(copied(STAGES, party)) - PACKAGING) if file.parts[0] in OWN]
    listed = requirements(DEPLOY / f"requirements/{LISTS[party]}.txt")
    # Imported nowhere by name: SQLAlchemy loads the first, and Carole's image, which has the same readers, no others.
    listed -= {"psycopg[binary]", "fastexcel", "pyreadstat"}
    path = f"deploy/requirements/{LISTS[party]}.txt"
    assert sorted(distributions(files) - listed) == [], f"add to {path}"
    assert sorted(listed - distributions(files)) == [], f"remove from {path}"


class Image:
    """What an image's build would put together, without a container: code and packages, and nothing else to import."""

    def __init__(self, party: str, root: Path) -> None:
        self.party = party
        self.code = root / "code"
        self.packages = root / "packages"
        self.work = root / "work"
        for folder in (self.code, self.packages, self.work):
            folder.mkdir()
        for source, into in copied(STAGES, party).items():
            if source.partition("/")[0] in OWN:
                self._copy(REPOSITORY / source, self.code / into)
        self._install((DEPLOY / f"requirements/{LISTS[party]}.lock").read_text())
        (self.packages / "gemel-0.dist-info").mkdir()
        (self.packages / "gemel-0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: gemel\nVersion: 0\n")
        self.files = sorted(path for path in self.code.rglob("*") if path.is_file())

    @staticmethod
    def _copy(source: Path, into: Path) -> None:
        into.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, into, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        else:
            shutil.copy(source, into)

    def _install(self, lock: str) -> None:
        """Link the packages of a lock, as installed."""
        for requirement in locked(lock):
            found = distribution(requirement.name)
            for file in found.files or ():
                top = file.parts[0]
                if top not in ("..", "__pycache__") and not (self.packages / top).exists():
                    (self.packages / top).symlink_to(found.locate_file(top))

    def start(self, *arguments: str, **options: object) -> subprocess.Popen[str]:
        """Start Python with these arguments, and without the packages of the environment that runs the tests."""
        return subprocess.Popen(
            [sys.executable, "-S", *arguments],
            cwd=self.work,
            env={
                "PATH": os.environ["PATH"],
                "HOME": "/nonexistent",
                "PYTHONPATH": f"{self.code}:{self.packages}",
                "PYTHONDONTWRITEBYTECODE": "1",
                "NUMBA_CACHE_DIR": str(self.work / "cache"),
                "COLUMNS": "120",
            },
            text=True,
            **options,  # type: ignore[call-overload]
        )

    def run(self, *arguments: str) -> str:
        """Standard output of a run that must succeed."""
        process = self.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        shown, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        return shown


EVERYTHING = """
import importlib, importlib.util, json, pathlib, sys
code = pathlib.Path(sys.argv[1])
for file in sorted(code.rglob("*.py")):
    parts = file.relative_to(code).with_suffix("").parts
    name = ".".join(parts).removesuffix(".__init__")
    # Consoles need the extra `console`, and no service has one.
    consoles = ("gemel.console.",)
    apart = name == "gemel.protos.compile" or name.startswith(consoles)
    if parts[-1] != "__main__" and not apart:
        assert importlib.import_module(name).__file__ == str(file), name
from gemel.command import app
from typer.main import get_command
print(json.dumps({
    "packages": [name for name in sys.argv[2:] if importlib.util.find_spec(name)],
    "commands": sorted(get_command(app).commands),
}))
"""

OTHERS = (
    *("gemel.alice", "gemel.bob", "gemel.carole", "gemel.coordinator", "alice", "common"),
    *("scipy", "altair", "vl_convert", "jinja2", "grpc_tools", "pytest"),
)


@pytest.mark.parametrize(
    ("party", "packages", "commands"),
    [
        ("alice", ["gemel.alice", "scipy"], ["alice", "party"]),
        pytest.param("bob", ["gemel.bob", "scipy"], ["bob", "party"], marks=pytest.mark.long),
        ("carole", ["gemel.carole", "scipy", "jinja2"], ["audit", "carole", "party"]),
    ],
)
def test_what_is_there_is_enough_and_nothing_else_is_there(
    party: str, packages: list[str], commands: list[str], tmp_path: Path
) -> None:
    """Every module in the image can be imported; no other party, no package or command of theirs can be found."""
    image = Image(party, tmp_path)
    found = json.loads(image.run("-c", EVERYTHING, str(image.code), *OTHERS))
    assert found == {"packages": packages, "commands": commands}


def test_alices_service_runs_in_her_image(tmp_path: Path) -> None:
    image = Image("alice", tmp_path)
    keys = provision(tmp_path / "parties", linker_names=["carole"])
    peer = keys.members.named("bob").identity.fingerprint
    text = (DEPLOY / "alice/alice.yaml").read_text().replace(NOBODY, peer)
    text = text.replace("/etc/gemel/alice/keys", str(keys.parties["alice"].path))
    text = text.replace("/var/lib/gemel", str(image.work / "state")).replace("carole:7443", "127.0.0.1:9")
    port = free_port()
    assert ":9465" in text
    (image.work / "alice.yaml").write_text(text.replace(":9465", f":{port}"))
    arguments = ["-m", "gemel.alice", "--config", "alice.yaml", "--ready-file", "ready"]
    with (image.work / "log").open("w") as log:
        service = image.start(*arguments, stderr=log)
        try:
            until(lambda: (image.work / "ready").exists() or service.poll() is not None)
            assert service.poll() is None, (image.work / "log").read_text()
            # The health check of the image, and what the operator calls.
            image.run("-I", str(DEPLOY / "ready.py"), str(port))
            status = json.loads(image.run("-m", "gemel.command", "alice", "status", "--json", "--config", "alice.yaml"))
            assert status["party"] == "alice"
            assert status["carole"] == {"address": "127.0.0.1:9", "connected": False, "refusal": ""}
            service.send_signal(signal.SIGTERM)
            assert service.wait(20) == 0
            assert image.start("-I", str(DEPLOY / "ready.py"), str(port)).wait(20) == 1
        finally:
            service.kill()
            service.wait()
    assert sorted(path for path in image.code.rglob("*") if path.is_file()) == image.files
