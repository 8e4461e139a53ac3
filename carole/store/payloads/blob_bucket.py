"""Blobs in an object store that speaks S3's protocol: an object for each file, under `prefix/payload/file`.

Objects are written in one request that fails where the name is taken; a request that the store refuses, or that does
not reach it, is tried again for a while, and is then an error that passes: the call or the run is repeated.

Nothing proves here that a former holder is dead. So a killed Carole is followed when her tenure is over, after half a
minute at most (`tenure`).
"""

from __future__ import annotations

import configparser
import re
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gemel.carole.bucket import Bucket
from gemel.common.errors import ErrorCode, GemelError, file_error
from gemel.common.missing_module import missing_module

if TYPE_CHECKING:
    from obstore.store import S3Store

IDENTITY = "identity"
"""The object with the name of the store that the bucket's prefix belongs to."""

RETRIES = 4
RETRY_SECONDS = 20
CONNECT_SECONDS = 5
TIMEOUT_SECONDS = 120
"""Of one request; the longest has 64 MiB."""

_PROBE = "probe"
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,64})</Code>")
_FULL = {"XMinioStorageFull", "QuotaExceeded", "InsufficientStorage", "XMinioAdminBucketQuotaExceeded"}


class BlobBucket:
    """A place of blobs, with the methods of `blobs.BlobFolder`."""

    name = "the bucket of blobs"
    folder: Path | None = None

    def __init__(self, bucket: Bucket) -> None:
        self.where = bucket.url
        self._store = _opened(bucket)

    def create(self) -> None:
        """Nothing: a bucket is made by its operator, with the rights and rules that it is to have."""

    def claim(self) -> str:
        """A token that no one else has."""
        return secrets.token_hex(16)

    def release(self) -> None:
        """Nothing: the tenure ends by itself."""

    def identity(self) -> str | None:
        with self._translated("cannot be read"):
            try:
                return bytes(self._store.get(IDENTITY).bytes()).decode("ascii", "replace").strip()
            except FileNotFoundError as error:
                if _code(error) == "NoSuchKey":
                    return None
                raise

    def identify(self, store: str) -> None:
        with self._translated("cannot be written to"):
            self._store.put(IDENTITY, f"{store}\n".encode())

    def payloads(self, after: str) -> Iterator[str]:
        """The payloads of the objects that come after `after`, a thousand objects a request."""
        with self._translated("cannot be listed"):
            for objects in self._store.list(offset=after or None):
                for found in objects:
                    yield found["path"].partition("/")[0]

    def files(self, payload: str) -> set[str]:
        with self._translated("cannot be listed"):
            return {found["path"].rpartition("/")[2] for objects in self._store.list(payload) for found in objects}

    def put(self, payload: str, file: str, content: bytes) -> None:
        """Write an object, as a whole or not at all; one whose answer never came may turn up until a sweep."""
        from obstore.exceptions import AlreadyExistsError

        with self._translated("cannot be written to"):
            try:
                self._store.put(f"{payload}/{file}", content, mode="create", use_multipart=False)
            except AlreadyExistsError:
                # Written by a request before, whose answer was lost: names are random, or those of a backup.
                if self._store.head(f"{payload}/{file}")["size"] != len(content):
                    raise

    def get(self, payload: str, file: str, start: int, length: int | None) -> bytes:
        path = f"{payload}/{file}"
        with self._translated("cannot be read"):
            try:
                if length is None:
                    return bytes(self._store.get(path).bytes())[start:]
                return bytes(self._store.get_range(path, start=start, length=length)) if length else b""
            except Exception as error:
                if _code(error) not in ("NoSuchKey", "InvalidRange"):
                    raise
                what = "a stored chunk cannot be read"
                got = "no such object" if _code(error) == "NoSuchKey" else "a shorter object"
                remedy = "restore the bucket's objects to those of the database, or upload again"
                raise GemelError(ErrorCode.VAULT, what, where=self.where, got=got, remedy=remedy) from None

    def remove(self, payload: str, files: Collection[str]) -> None:
        with self._translated("cannot be written to"):
            self._store.delete([f"{payload}/{file}" for file in files])

    def remove_empty(self, payload: str) -> None:
        """Nothing: a payload without objects is not there."""

    def remove_all(self, payload: str) -> None:
        if files := self.files(payload):
            self.remove(payload, files)

    def check(self) -> None:
        with self._translated("cannot be written to"):
            self._store.put(_PROBE, b"probe", use_multipart=False)
            self._store.delete(_PROBE)

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        """Convert the object store's errors, which quote requests, to Gemel's, which name what to do."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError) as error:
            code, reason, remedy = _meaning(error)
            status = _STATUS.search(str(error))
            got = " ".join(part for part in (status[1] if status else "", _code(error)) if part)
            got = got or "no answer"
            raise GemelError(code, f"{self.name} {what}: {reason}", where=self.where, got=got, remedy=remedy) from None


def _meaning(error: Exception) -> tuple[ErrorCode, str, str]:
    """The kind of an object store's error, what it is, and what to do; all of them pass once it is done."""
    found = _STATUS.search(str(error))
    status, code = int(found[1]) if found else 0, _code(error)
    if status == 507 or code in _FULL:
        return ErrorCode.STORAGE_FULL, "it is full", "make room in it, or raise its quota; nothing was lost"
    if code == "NoSuchBucket":
        return ErrorCode.DATABASE, "there is no such bucket", "make it, or correct `store.blobs`"
    if status in (401, 403):
        remedy = "check the credentials, in their file or the environment, and what the bucket's policy allows them"
        return ErrorCode.DATABASE, "the object store refuses these credentials", remedy
    if status in (429, 503) or code == "SlowDown":
        return ErrorCode.DATABASE, "the object store refuses for now", "try again; if it stays so, see its own log"
    if status:
        return ErrorCode.DATABASE, "the object store failed", "see its own log; check `store.objects`"
    remedy = "check that it runs, `store.objects.endpoint`, the network, and that its certificate is trusted"
    return ErrorCode.DATABASE, "the object store cannot be reached", remedy


def _code(error: Exception) -> str:
    """S3's name of an error; empty if it has none."""
    found = _CODE.search(str(error))
    return found[1] if found else ""


def _opened(bucket: Bucket) -> S3Store:
    try:
        from obstore.exceptions import BaseError
        from obstore.store import S3Store
    except ModuleNotFoundError as error:
        raise missing_module(error) from None
    name, _, prefix = bucket.url.removeprefix("s3://").partition("/")
    # What is given here holds, whatever the environment says of other things than credentials.
    endpoint = bucket.endpoint or f"https://s3.{bucket.region}.amazonaws.com"
    client: dict[str, Any] = {
        "allow_http": endpoint.startswith("http://"),
        "allow_invalid_certificates": False,
        "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
        "timeout": timedelta(seconds=TIMEOUT_SECONDS),
    }
    if bucket.authorities is not None:
        client["root_certificate"] = _text(bucket.authorities, "the certificates of the object store's authorities")
    given = _credentials(bucket.credentials)
    try:
        return S3Store(
            name,
            prefix=prefix or None,
            endpoint=endpoint,
            region=bucket.region,
            virtual_hosted_style_request=False,
            client_options=client,  # type: ignore[arg-type]
            retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS)},
            **given,
        )
    except BaseError:
        # Its text may quote the environment.
        what = "the object store's client cannot be made"
        got = "credentials of which a part is missing, or another setting that is not valid"
        remedy = "check `store.objects`, the file of credentials, and the environment's AWS_ variables"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=bucket.url, got=got, remedy=remedy) from None


def _credentials(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    read = configparser.ConfigParser(interpolation=None)
    try:
        read.read_string(_text(file, "the credentials of the object store"))
        found = read["default"]
        given = {"access_key_id": found["aws_access_key_id"], "secret_access_key": found["aws_secret_access_key"]}
        return {**given, **({"session_token": token} if (token := found.get("aws_session_token")) else {})}
    except (configparser.Error, KeyError):
        what = "the credentials of the object store are not those of a file of AWS'"
        remedy = "write a section [default] with aws_access_key_id and aws_secret_access_key"
        raise GemelError(ErrorCode.CONFIGURATION, what, where=str(file), remedy=remedy) from None


def _text(file: Path, what: str) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        remedy = "check `store.objects` and the file's permissions"
        raise file_error(ErrorCode.CONFIGURATION, f"{what} cannot be read", file, error, remedy) from None
