"""A signal that comes while compiled code is at work, which Python cannot interrupt."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gemel.ended_in_order import WORDS

ROOT = Path(__file__).resolve().parents[1]

HASHING = """\
import hashlib
from gemel.ended_in_order import ended_in_order
with ended_in_order(0.2):
    print("at work", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
"""
"""Some ten minutes in one call."""

ASKING = """\
from gemel.ended_in_order import ended_in_order
with ended_in_order(60.0):
    import polars
    try:
        print("at work", flush=True)
        input()
    finally:
        print("undone", flush=True)
"""
"""Polars has a handler of Ctrl-C, after which the kernel goes on reading."""

CALLED_BACK = """\
import ctypes, threading
from gemel.ended_in_order import ended_in_order
def work():
    print("at work", flush=True)
    threading.Event().wait(120)
with ended_in_order(60.0):
    ctypes.CFUNCTYPE(None)(work)()
    try:
        threading.Event().wait(120)
    finally:
        print("undone", flush=True)
"""
"""What C calls back, as LLVM does while Numba compiles: the exception goes no further than the call."""

SERVING = """\
import signal, threading
from gemel.ended_in_order import ended_in_order
with ended_in_order(0.0):
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    print("at work", flush=True)
    ended.wait()
    threading.Event().wait(0.5)
    print("in order", flush=True)
"""


def started(program: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    return process


def columns(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def state(pid: int) -> str:
    """Of the main thread: S for one that waits."""
    return columns(pid)[0]


def processor_ticks(pid: int) -> int:
    return int(columns(pid)[11])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_compiled_code_is_ended(number: signal.Signals) -> None:
    process = started(HASHING)
    begun = processor_ticks(process.pid)
    while processor_ticks(process.pid) < begun + 20:
        time.sleep(0.02)
    process.send_signal(number)
    _, printed = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert printed == f"{WORDS[128 + number]}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_waits_for_input_is_undone(number: signal.Signals) -> None:
    process = started(ASKING)
    while state(process.pid) != "S":
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(30) == 128 + number
    printed, _ = process.communicate()
    assert printed == "undone\n"


def test_an_exception_that_a_callback_has_lost_is_raised_again() -> None:
    process = started(CALLED_BACK)
    process.terminate()
    assert process.wait(30) == 128 + signal.SIGTERM
    assert process.communicate() == ("undone\n", "")


def test_a_service_with_a_handler_of_its_own_is_not_hurried() -> None:
    process = started(SERVING)
    process.terminate()
    printed, _ = process.communicate(timeout=120)
    assert (process.returncode, printed) == (0, "in order\n")
