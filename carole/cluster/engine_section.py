"""The section `engine` of Carole's configuration and of her workers': where shards are worked on. Imports no Dask."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Annotated, Literal

from pydantic import AfterValidator, Discriminator

from gemel.common.configuration import Configuration, ConfiguredPath, Size, size_in_bytes
from gemel.common.errors import ErrorCode, file_error
from gemel.common.keys.private_files import read_private
from gemel.common.missing_module import missing_module


def _tls_address(text: str) -> str:
    """An address that is called by TLS; a scheduler without it would run what anyone sends."""
    found = re.fullmatch(r"tls://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+):([0-9]{1,5})", text)
    if found is None or not 0 < int(found[2]) <= 65535:
        raise ValueError("expected tls://host:port; a scheduler is called by TLS and not otherwise")
    return text


class Credentials(Configuration):
    """The files by which one party of a cluster shows the others that it belongs to it."""

    ca: ConfiguredPath
    """Certificate of the cluster's own authority, in PEM. Whoever has a certificate of it can run programs there."""
    certificate: ConfiguredPath
    """Its certificate by that authority, in PEM."""
    key: ConfiguredPath
    """The certificate's private key, in PEM, readable by this user alone."""

    def check(self) -> None:
        """Refuse files that cannot be read; CONFIGURATION."""
        files = {"the certificate of the cluster's authority": self.ca, "a certificate": self.certificate}
        for what, path in files.items():
            try:
                path.read_bytes()
            except OSError as error:
                raise file_error(ErrorCode.CONFIGURATION, f"{what} cannot be read", path, error) from None
        read_private(self.key, "the key of a certificate")


class LocalEngine(Configuration):
    """Shards are worked on by this machine's threads."""

    kind: Literal["local"] = "local"


class DaskEngine(Credentials):
    """Shards of runs in mode block_keyed are worked on by the workers of a Dask scheduler."""

    kind: Literal["dask"]
    address: Annotated[str, AfterValidator(_tls_address)]
    """Of the scheduler: ``tls://host:port``."""
    worker_memory: Size = "4GiB"
    """Of each worker, for the data of the units that its threads work on; its interpreter needs more on top."""

    def check(self) -> None:
        """Refuse files that cannot be read, CONFIGURATION, and an installation without Dask, MODULE_MISSING."""
        if find_spec("distributed") is None:
            raise missing_module(ModuleNotFoundError(name="distributed"))
        super().check()

    @property
    def worker_bytes(self) -> int:
        return size_in_bytes(self.worker_memory)


EngineConfiguration = Annotated[LocalEngine | DaskEngine, Discriminator("kind")]
