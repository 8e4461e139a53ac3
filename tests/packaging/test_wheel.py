"""The built wheel in an environment of its own: beside packages of the same names as ours, from a folder elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from gemel.common.missing_module import installing

ROOT = Path(__file__).resolve().parents[2]
ROOMS = tuple(sorted(path.name for path in (ROOT / "gemel").iterdir() if path.is_symlink()))
DATA = (
    *(".proto", ".pyi", ".j2", ".sql", ".css", ".js", ".svg", ".parquet", ".yaml", ".toml", ".xz", ".gz", ".json"),
    *(".po", ".mo"),
)
BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"


def run(*command: object, folder: Path, status: int = 0, seconds: int = 120) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GEMEL"))}
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env={**environment, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def build(kind: str, tree: Path, out: Path) -> Path:
    """What the build backend makes of a tree: no network, no environment of its own."""
    out.mkdir()
    run(sys.executable, "-W", "ignore", "-c", BUILD, f"build_{kind}", out, folder=tree, seconds=240)
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the sdist, as a package index would hold it, built in a copy of the tree."""
    folder = tmp_path_factory.mktemp("build")
    tree = folder / "tree"
    tree.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, tree)
    for name in ("gemel", *ROOMS):
        shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    with tarfile.open(build("sdist", tree, folder / "sdist")) as archive:
        # Python 3.11.2, Debian's, has no filters yet; the archive is our own.
        if hasattr(tarfile, "data_filter"):
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(folder / "unpacked")  # noqa: S202
    (unpacked,) = (folder / "unpacked").iterdir()
    return build("wheel", unpacked, folder / "wheel")


def test_every_file_of_data_is_of_a_kind_that_is_packed() -> None:
    """What the wheel is built by, without a build: packages are found by their ``__init__.py``, data by its ending."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]["*"]
    folders = [path.parent for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    assert {folder for folder in folders if not (folder / "__init__.py").is_file()} == set()
    for room in ROOMS:
        for file in (ROOT / room).rglob("*"):
            if file.is_file() and file.suffix in DATA:
                assert any(fnmatch(file.name, pattern) for pattern in patterns), file
                assert (file.parent / "__init__.py").is_file(), file


@pytest.mark.long
def test_the_wheel_holds_one_name_and_everything_below_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    packed = {name for name in names if not name.partition("/")[0].endswith(".dist-info")}
    assert {name.partition("/")[0] for name in packed} == {"gemel"}
    ours = {
        f"gemel/{file.relative_to(ROOT)}"
        for room in ROOMS
        for file in (ROOT / room).rglob("*")
        if file.suffix == ".py" or file.suffix in DATA
    }
    own = ("__init__.py", "__main__.py", "command.py", "ended_in_order.py", "py.typed")
    assert packed == ours | {f"gemel/{name}" for name in own}


@pytest.mark.long
def test_a_wheel_with_an_extra_is_a_requirement_as_remedies_write_it(wheel: Path) -> None:
    """`./FILE.whl[extra]`, read by pip itself; nothing is installed."""
    assert "'./FILE.whl[report]'" in installing("report")
    command = ["-m", "pip", "install", "--dry-run", "--no-deps", "--no-index", "--ignore-installed"]
    printed = run(sys.executable, *command, f"./{wheel.name}[report]", folder=wheel.parent)
    assert f"Would install {'-'.join(wheel.name.split('-')[:2])}" in printed


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An environment with the wheel, whose other packages are linked from the one that runs the tests."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    command = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--no-index"]
    run(sys.executable, *command, "--prefix", folder, "--ignore-installed", wheel, folder=folder)
    here = [Path(entry) for entry in sys.path if entry.endswith("-packages")]
    for source in here:
        for entry in source.iterdir():
            # Not the editable installation of this very tree.
            if not entry.name.lower().startswith(("gemel", "__editable__")) and entry.suffix != ".pth":
                target = packages / entry.name
                if not target.exists():
                    target.symlink_to(entry)
    assert (packages / "gemel/command.py").is_file()
    yield folder / "bin"
    shutil.rmtree(folder)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder whose own modules have the names of our folders."""
    for name in ROOMS:
        (tmp_path / f"{name}.py").write_text("DECOY = True\n")
    return tmp_path


@pytest.mark.long
def test_our_names_and_others_live_side_by_side(installed: Path, elsewhere: Path) -> None:
    """As in a notebook: the folder of the script comes first in `sys.path`."""
    (elsewhere / "notebook.py").write_text(
        "import pathlib, sys\n"
        + "".join(f"import {name}, gemel.{name}\n" for name in ROOMS)
        + "from gemel.common.specification import load_specification\n"
        + f"modules = [{', '.join(ROOMS)}]\n"
        + "assert all(module.DECOY for module in modules)\n"
        + "place = pathlib.Path(gemel.__file__).resolve()\n"
        + "assert place.is_relative_to(pathlib.Path(sys.prefix).resolve()), place\n"
        + "print('fine')\n"
    )
    python = installed / "python"
    assert run(python, "notebook.py", folder=elsewhere) == "fine\n"
    assert run(python, "-c", "import common; print(common.DECOY)", folder=elsewhere) == "True\n"
    for name in ROOMS:
        (elsewhere / f"{name}.py").unlink()
    run(python, "-c", "import common", folder=elsewhere, status=1)


@pytest.mark.long
@pytest.mark.timeout(900)  # every kernel is compiled once more, since this installation is a new one
def test_the_demonstration_runs_from_elsewhere(installed: Path, elsewhere: Path) -> None:
    """All three services are started by the command that was installed, in the folder of the decoys.

    Fewer people would do, if a few values recovered by chance were not above the limit of the leakage gate.
    """
    assert run(installed / "gemel", "--version", folder=elsewhere).startswith("gemel ")
    run(installed / "gemel", "demo", "--people", "300", "--out", "out", folder=elsewhere, seconds=840)
    made = {path.name for path in (elsewhere / "out").iterdir()}
    assert {"links.parquet", "links.csv", "model.json", "report.html", "risk.html", "linkage.yaml"} <= made


@pytest.mark.long
@pytest.mark.parametrize("module", ["gemel", "gemel.alice", "gemel.bob", "gemel.carole"])
def test_python_m_works_from_elsewhere(module: str, installed: Path, elsewhere: Path) -> None:
    assert "usage:" in run(installed / "python", "-m", module, "--help", folder=elsewhere).lower()
