"""The reference data, as the other tests have it."""

from tests.conftest import shared as shared
