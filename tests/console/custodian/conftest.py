"""The custodians' fixtures."""

from tests.custodian.conftest import make_world, parties

__all__ = ["make_world", "parties"]
