"""The way `webhook`: a POST of the message's JSON, with an HMAC by which the receiver knows that Carole sent it."""

from __future__ import annotations

import hashlib
import hmac
import ssl
import threading
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from gemel.carole.notification.cutting_off import SEND_SECONDS, DeliveryError, Line, cut_off
from gemel.carole.notification.message import Message
from gemel.carole.notification.section import WebhookWay

SIGNATURE = "Gemel-Signature"
"""Header with ``sha256=`` and the HMAC-SHA256 of the payload under the secret, in hexadecimal digits."""


def signature(secret: bytes, payload: bytes) -> str:
    """The header's value."""
    return f"sha256={hmac.new(secret, payload, hashlib.sha256).hexdigest()}"


def post(way: WebhookWay, message: Message, stopping: threading.Event, seconds: float = SEND_SECONDS) -> None:
    """Send the message; any status of 200 to 299 is an acceptance. No redirection is followed, no proxy used."""
    payload = message.dump().encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "gemel",
        "Gemel-Event": str(message.event),
        "Gemel-Id": message.id,
        SIGNATURE: signature(way.secret(), payload),
    }
    found = urlsplit(way.url)
    secure = found.scheme == "https"
    connection = (HTTPSConnection if secure else HTTPConnection)(found.hostname or "", found.port, timeout=seconds)
    context = way.context() if secure else None
    target = (found.path or "/") + (f"?{found.query}" if found.query else "")
    line = Line()
    try:
        with cut_off(line.shut, stopping, seconds):
            connection.sock = line.open(connection.host, connection.port, seconds, context)
            connection.request("POST", target, payload, headers)
            status = connection.getresponse().status
    except ssl.SSLError as error:
        raise DeliveryError(f"TLS failed: {error.reason or type(error).__name__}") from None
    except (OSError, HTTPException) as error:
        raise DeliveryError(f"the receiver cannot be reached: {type(error).__name__}") from None
    finally:
        connection.close()
        line.close()
    if not 200 <= status < 300:
        moved = ", a redirection, which is not followed" if 300 <= status < 400 else ""
        raise DeliveryError(f"the receiver answered with status {status}{moved}")
