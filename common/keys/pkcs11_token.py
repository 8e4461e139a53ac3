"""A token of hardware, by PKCS#11: its session, and what is stated where it cannot be used.

The module is the vendor's library; SoftHSM's is one in software, for tests. A session is opened once; a token that was
away is opened again at the next use. A library is one for the whole process, and so is a login: one thread at a time
uses any of its tokens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from gemel.common.errors import ErrorCode, GemelError
from gemel.common.keys.key_wrapper import KeyUse, TokenPlace, unusable
from gemel.common.missing_module import missing_module

Result = TypeVar("Result")

_ONE_THREAD = threading.RLock()


class Pkcs11Token:
    """A token, once it is used."""

    def __init__(self, place: TokenPlace, use: KeyUse) -> None:
        self.label = place.token
        self.library = _library()
        self._module, self._pin = str(place.module), place.pin
        self._use = use
        self._session: Any = None
        self._refused = ""

    def __repr__(self) -> str:
        return f"Pkcs11Token({self._module!r}, {self.label!r})"

    def use(self, work: Callable[[Any], Result]) -> Result:
        """What `work` returns of the session; called once more, with a new one, if the token fails. Raises UNAVAILABLE
        if it fails again."""
        with _ONE_THREAD:
            for attempt in (1, 2):
                try:
                    return work(self._opened())
                except self.library.PKCS11Error as error:
                    self._session = None
                    if attempt == 2:
                        what = f"the token of the {self._use.keys} does not answer"
                        where, remedy = f"token {self.label}", "check that it is connected and its service runs"
                        got = type(error).__name__
                        raise GemelError(ErrorCode.UNAVAILABLE, what, where=where, got=got, remedy=remedy) from None
        raise AssertionError("the loop returns or raises")

    def look(self, key: str, work: Callable[[Any], Result]) -> Result:
        """What `work` finds out about a key with the session. Raises VAULT if the token or the key is not there, or the
        PIN is wrong."""
        with _ONE_THREAD, self._stated(f"the key {key} cannot be used"):
            return work(self._opened())

    def make(self, key: str, kind: Any, work: Callable[[Any], object]) -> None:
        """Make a key, by `work`, with a session that may write. Raises EXISTS if an object of this kind has the key's
        label; VAULT if the token does not make it."""
        attribute = self.library.Attribute
        with _ONE_THREAD, self._stated("the token did not make the key"):
            writing = self._open(rw=True)
            if any(writing.get_objects({attribute.CLASS: kind, attribute.LABEL: key})):
                raise GemelError(ErrorCode.EXISTS, "the token has a key of this label", where=key)
            work(writing)
            writing.close()

    def may_leave(self, key: Any) -> bool:
        attribute = self.library.Attribute
        return bool(key[attribute.EXTRACTABLE] or not key[attribute.SENSITIVE])

    def fault(self, what: str, got: str) -> GemelError:
        remedy = (
            f"check module, token, label and PIN under `{self._use.section}` in the configuration, and that the token "
            "is there"
        )
        return unusable(what, f"token {self.label}", got, remedy)

    @contextmanager
    def _stated(self, what: str) -> Iterator[None]:
        try:
            yield
        except self.library.PKCS11Error as error:
            raise self.fault(what, type(error).__name__) from None

    def _opened(self) -> Any:
        if self._session is None:
            self._session = self._open()
        return self._session

    def _open(self, *, rw: bool = False) -> Any:
        wrong = (
            "the token has refused the PIN, which is not tried again before a restart: tokens lock after a few times"
        )
        if self._refused:
            raise self.fault(wrong, self._refused)
        token = self.library.lib(self._module).get_token(token_label=self.label)
        of = self.library.exceptions
        try:
            return token.open(user_pin=self._pin, rw=rw)
        except (of.PinIncorrect, of.PinInvalid, of.PinLenRange, of.PinLocked, of.PinExpired) as error:
            self._refused = type(error).__name__
            raise self.fault(wrong, self._refused) from None
        except self.library.exceptions.UserAlreadyLoggedIn:
            # A login is of the process: another session of it has made one.
            return token.open(rw=rw)


def _library() -> Any:
    try:
        import pkcs11
    except ModuleNotFoundError as error:
        raise missing_module(error) from None
    return pkcs11
