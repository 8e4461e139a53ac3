"""A party's configuration file: strict YAML, every error reported at once with its line.

The dialect is that of the specification (`yaml_document`); an unknown or repeated key is an error, and text is never
read as a number or a number as text. Relative paths are relative to the file. A configuration may hold a secret by
accident, so no message shows a value that was read.
"""

from __future__ import annotations

import ipaddress
import json
import re
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, model_validator

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.validation_issues import ValidationIssue, type_issues
from gemel.common.yaml_document import DocumentKind, read_yaml

MAX_BYTES = 1 << 20
"""A configuration longer than this is not one."""

_KIND = DocumentKind("a configuration", ErrorCode.CONFIGURATION, MAX_BYTES, shows_values=False)
_FOLDER = "folder"


class Configuration(BaseModel):
    """Base of every configuration model: unknown keys refused, values immutable and not shown in errors.

    A model's own validators must run *after* pydantic's: one that runs before replaces JSON's rules, which accept a
    list for a tuple, by Python's, which do not.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def resolved(path: Path, info: ValidationInfo) -> Path:
    """A path of a configuration, made relative to the file's folder where it is relative."""
    folder = (info.context or {}).get(_FOLDER)
    expanded = path.expanduser()
    return expanded if folder is None else Path(folder) / expanded


ConfiguredPath = Annotated[Path, AfterValidator(resolved)]
"""A path that, when relative, is relative to the configuration file (``~`` is the user's home)."""


def hexadecimal(digits: int) -> AfterValidator:
    """Validates so many hexadecimal digits, in any grouping; they are kept without it, in lower case."""

    def check(value: str) -> str:
        found = re.sub(r"[\s:-]", "", value).lower()
        if not re.fullmatch(rf"[0-9a-f]{{{digits}}}", found):
            raise ValueError(f"expected {digits} hexadecimal digits")
        return found

    return AfterValidator(check)


_SIZE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) ?(KiB|MiB|GiB|TiB)")
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def _size(text: str) -> str:
    if not _SIZE.fullmatch(text):
        raise ValueError("expected a size such as 512MiB or 3GiB")
    return text


def _listen(text: str) -> str:
    found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+):([0-9]{1,5})", text)
    if found is None or int(found[2]) > 65535:
        raise ValueError("expected host:port, such as 0.0.0.0:7443 or [::]:7443")
    return text


Listen = Annotated[str, AfterValidator(_listen)]


def host_and_port(text: str) -> str:
    """Where a service is called, itself; ValueError for what is no host:port."""
    if not re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+):[0-9]{1,5}", text):
        raise ValueError("expected host:port, such as carole.example.org:7443")
    if int(text.rpartition(":")[2]) > 65535:
        raise ValueError("a port is at most 65535")
    return text


Address = Annotated[str, AfterValidator(host_and_port)]
Size = Annotated[str, AfterValidator(_size)]


def size_in_bytes(text: str) -> int:
    """Bytes of a size such as ``3GiB``."""
    match = _SIZE.fullmatch(text)
    assert match is not None  # noqa: S101 - the model has checked it
    return int(float(match[1]) * _UNITS[match[2]])


Model = TypeVar("Model", bound=BaseModel)


def load_configuration(path: Path, model: type[Model]) -> Model:
    """Read a YAML configuration file; `Configuration` is a good base of the model it must fit.

    Fields of type `ConfiguredPath` are resolved against the file's folder. Raises CONFIGURATION, when the file cannot
    be read, is not YAML, or does not fit: a `GemelErrors` with every issue, by line and by key, never with a value.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _unusable(path, f"a configuration has at most {MAX_BYTES} bytes", "is this the right file?")
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unusable(path, f"not UTF-8 at byte {error.start}", "save the file as UTF-8") from None
    except OSError as error:
        what = f"the configuration cannot be read: {(error.strerror or 'input error').lower()}"
        raise _unusable(path, what, "name the configuration file with --config, and check its permissions") from None
    return parse_configuration(text, model, folder=path.absolute().parent, where=str(path))


def parse_configuration(text: str, model: type[Model], *, folder: Path, where: str) -> Model:
    """Read a configuration's text; relative paths are relative to `folder`, `where` names it in errors."""
    document = read_yaml(text, where, _KIND)
    data = document.value
    if not isinstance(data, dict):
        what = "a configuration must be a mapping of keys to values"
        raise document.errors([ValidationIssue((), what, remedy="write `key: value` lines")])
    # A section with every line commented out is null in YAML, and means its defaults.
    optional = {name for name, field in model.model_fields.items() if not field.is_required()}
    data = {key: value for key, value in data.items() if value is not None or key not in optional}
    try:
        # Strict validation of JSON takes a list for a tuple and text for a path, but no text for a number.
        read = model.model_validate_json(json.dumps(data), strict=True, context={_FOLDER: folder})
    except ValidationError as error:
        raise document.errors([*document.repeated, *type_issues(error, model, document.lines)]) from None
    if document.repeated:
        raise document.errors(document.repeated)
    return read


def _unusable(path: Path, what: str, remedy: str) -> GemelError:
    return GemelError(ErrorCode.CONFIGURATION, what, where=str(path), remedy=remedy)


LOOPBACK_NAMES = ("localhost",)
Right = Literal["coordinator", "steward", "custodian", "reader"]
"""What a subject may do: act as the member whose console it is, or read."""


def _https(text: str) -> str:
    parts = urlsplit(text)
    host = parts.hostname or ""
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise ValueError("expected an https address; http only of this machine itself")
    if not host or parts.query or parts.fragment or parts.username:
        raise ValueError("expected an address such as https://console.example.org")
    return text.rstrip("/")


HttpsAddress = Annotated[str, AfterValidator(_https)]


def is_loopback(host: str) -> bool:
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class SignOnConfiguration(Configuration):
    """The organisation's single sign-on, an OpenID Connect provider."""

    issuer: HttpsAddress
    """Its issuer; `/.well-known/openid-configuration` under it names all else."""
    client_id: str = Field(min_length=1)
    """The console's, as the provider knows it."""
    client_secret_file: ConfiguredPath | None = None
    """A file with its secret; none for a public client."""
    subjects: dict[str, Right] = Field(min_length=1)
    """Whom the console lets in, by the claim `sub`, and what for."""


class ConsoleConfiguration(Configuration):
    """How a member's console is served."""

    listen: Listen = "127.0.0.1:0"
    """Host and port; 0 is any free port."""
    url: HttpsAddress | None = None
    """The address that browsers use, where it is not the one that it listens on."""
    certificate: ConfiguredPath | None = None
    """The web server's certificate, PEM; needed to listen on another address than loopback."""
    key: ConfiguredPath | None = None
    """Its key."""
    idle_minutes: float = Field(default=15, gt=0, le=24 * 60)
    """After so long without use a session ends."""
    longest_hours: float = Field(default=8, gt=0, le=24)
    """After so long it ends in any case."""
    sign_on: SignOnConfiguration | None = None
    """Where the console is shared; without it a console is opened by a one-time link, on loopback only."""

    @model_validator(mode="after")
    def _shared_by_sign_on(self) -> Self:
        host = self.listen.rpartition(":")[0]
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key belong together")
        if not is_loopback(host) and self.sign_on is None:
            raise ValueError("a console that listens on another address than loopback needs sign_on")
        if not is_loopback(host) and self.certificate is None:
            raise ValueError("a console that listens on another address than loopback needs certificate and key")
        if self.url is not None and not is_loopback(urlsplit(self.url).hostname or "") and self.sign_on is None:
            raise ValueError("a console with an address of its own needs sign_on")
        return self
