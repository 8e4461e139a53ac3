"""`gemel project run`, where its way through a project is not the straight one of docs/live-linkage.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gemel.common.errors import ErrorCode
from tests.e2e.deployment import Deployment, specification
from tests.typed import error_of, printed


def test_another_specification_of_the_same_project_is_refused(
    deploy: Callable[..., Deployment], tmp_path: Path
) -> None:
    made = deploy(specification("births"))
    made.start_carole()
    given = tmp_path / "first.yaml"
    given.write_text(specification("births"))
    printed("project", "run", "--dry-run", given, "--config", made.coordinator_yaml)
    assert made.coordinator.projects() == []
    made.create(specification("births"), approve=False)
    path = tmp_path / "linkage.yaml"
    path.write_text(specification("births", bits=512))
    error = error_of("project", "run", path, "--config", made.coordinator_yaml)
    assert error.code is ErrorCode.EXISTS
    assert "gemel project amend" in error.remedy
    assert not made.status("births").approvals


def test_an_erased_project_is_not_taken_for_a_released_one(deploy: Callable[..., Deployment], tmp_path: Path) -> None:
    made = deploy(specification("births"))
    made.start_carole()
    made.create(specification("births"), approve=False)
    made.coordinator.erase("births")
    path = tmp_path / "linkage.yaml"
    path.write_text(specification("births"))
    error = error_of("project", "run", path, "--config", made.coordinator_yaml)
    assert error.code is ErrorCode.WRONG_STATE
    assert "erased" in error.what
