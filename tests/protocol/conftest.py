"""The same parties and Carole as in Carole's own tests."""

from tests.carole.conftest import deployment, parties, uploads

__all__ = ["deployment", "parties", "uploads"]
