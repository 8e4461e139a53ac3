"""Where an object store is, and how it is reached: what a configuration states of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Bucket:
    """Where an object store is. No credential is in it: these are in a file, or in the environment."""

    url: str
    """``s3://bucket/prefix``."""
    endpoint: str = ""
    """URL of the service; empty for Amazon's of the region."""
    region: str = "us-east-1"
    """As the service names it."""
    credentials: Path | None = None
    """A file in the form of AWS' own, of which the section `default` is read; None for those in the environment."""
    authorities: Path | None = None
    """Certificates, in PEM, of the authorities of the service's own certificate, if not those that everyone trusts."""
