"""A look at what a rehearsal leaves on the disk, before it is deleted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import pytest

from gemel.coordinator.rehearsal.processes import Services


def look_before_the_end(monkeypatch: pytest.MonkeyPatch, look: Callable[[Path], None]) -> None:
    """Have `look` called with the folder of every rehearsal, once its services have ended."""
    end = Services.__exit__

    def looked(
        services: Services, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for service in reversed(services.all):
            service.stop()
        if services._folder is not None:
            look(services._folder)
        end(services, kind, error, trace)

    monkeypatch.setattr(Services, "__exit__", looked)
