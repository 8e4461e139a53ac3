"""A real Carole, without a worker."""

from tests.carole.conftest import deployment, parties

__all__ = ["deployment", "parties"]
