"""What all tests share: where the reference data lies, when it is there."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# Services run inside the tests' own process, and programs are started from it as another user, which takes a fork.
# gRPC's handlers would start its threads again in the child, between the fork and the program: now and then it died.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

# No test judges by time. CI draws the same examples every time, so that a red run is the change's own; everywhere else
# the examples are new in every run, and a failing one is printed with its seed.
# `make long` draws more of them.
EXAMPLES = int(os.environ.get("GEMEL_EXAMPLES", "30"))
settings.register_profile("anywhere", max_examples=EXAMPLES, deadline=None, print_blob=True)
settings.register_profile("ci", max_examples=EXAMPLES, deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "anywhere")

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Reference data and oracles beside the checkout; tests that read it skip when it is absent."""


def pytest_configure(config: pytest.Config) -> None:
    from tests.compiled_once import compile_modules  # the folder of the tests is on the path only now
    from tests.fork_server import install

    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # So a shell starts what it runs in the background. Commands that tests stop by Ctrl-C would ignore it too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    install()
    if config.getoption("numprocesses", None):  # of xdist, where its workers are about to be started
        compile_modules(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are collected, and all stay: the collector of garbage is spared looking at them."""
    from tests.compiled_once import share_kernels

    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        share_kernels()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Commands that run in the tests' own process bar other users from what they write; what follows them must not.

    No fixture: those of a whole module are set up before a test's own, and run such commands themselves.
    """
    os.umask(0o022)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object | None:
    """With ``--dist loadfile``, files in an order and in company of our own."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.distribution import ByFile  # xdist need not be installed

    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A worker's tests in the order in which the scheduler hands them out."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        from tests.distribution import arranged

        items[:] = [items[place] for place in arranged([item.nodeid for item in items])]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the checkout."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the folder of reference data is not beside this checkout")
    return SHARED
