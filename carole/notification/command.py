"""The way `command`: a program of the operator's, with the message on its standard input."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import suppress

from gemel.carole.notification.cutting_off import SEND_SECONDS, DeliveryError, cut_off
from gemel.carole.notification.message import Message
from gemel.carole.notification.section import CommandWay

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
"""All that the program has: Carole's own environment may hold credentials."""


def run(way: CommandWay, message: Message, stopping: threading.Event, seconds: float = SEND_SECONDS) -> None:
    """Start the program and wait for its end, which is to be status 0. What it leaves running is killed.

    Raises
    ------
    DeliveryError
        If it cannot be started, ends otherwise, or does not end in time.
    """
    try:
        # Beside gRPC's threads, as a worker is started again: without code of its own between fork and exec, none of
        # their locks is needed.
        process = subprocess.Popen(
            way.program,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise DeliveryError(f"the program cannot be started: {(error.strerror or 'error').lower()}") from None

    def kill() -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    try:
        with cut_off(kill, stopping, seconds):
            assert process.stdin is not None  # noqa: S101
            # A message is far shorter than what a pipe takes: this does not wait for the program.
            with suppress(BrokenPipeError), process.stdin as pipe:
                pipe.write(f"{message.dump()}\n".encode())
            status = process.wait()
    finally:
        kill()
        process.wait()
    if status != 0:
        raise DeliveryError(f"the program ended with status {status}")
