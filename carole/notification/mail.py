"""The way `email`: a short text by SMTP."""

from __future__ import annotations

import smtplib
import socket
import ssl
import threading
from contextlib import suppress
from email.message import EmailMessage
from email.utils import formatdate

from gemel.carole.notification.cutting_off import SEND_SECONDS, DeliveryError, Line, cut_off
from gemel.carole.notification.message import Message, iso
from gemel.carole.notification.section import MailWay


def written(way: MailWay, message: Message) -> EmailMessage:
    """The e-mail. Its Message-ID is made of the message's id: sent again, it is the same one."""
    mail = EmailMessage()
    about = message.project or ", ".join(message.waiting_for)
    mail["Subject"] = f"[gemel] {message.event}{f': {about}' if about else ''}"
    mail["From"] = way.sender
    mail["To"] = ", ".join(way.to)
    mail["Date"] = formatdate(message.at / 1000)
    mail["Message-ID"] = f"<{message.id}.{way.key}@{way.sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    lines = {"event": str(message.event), "project": message.project, "run": message.run, "state": message.state}
    lines |= {"waits for": ", ".join(message.waiting_for), "time": iso(message.at), "id": message.id}
    shown = "\n".join(f"{name}: {value}" for name, value in lines.items() if value)
    mail.set_content(f"{message.sentence}\n\n{shown}\n")
    return mail


def send(way: MailWay, message: Message, stopping: threading.Event, seconds: float = SEND_SECONDS) -> None:
    """Send it; it is sent once the server has accepted it for any of its recipients.

    Raises
    ------
    DeliveryError
        If the server does not accept it in time, or offers no TLS where it has to.
    GemelError
        CONFIGURATION for a password or authorities that cannot be read.
    """
    password, context = way.password(), way.context()
    # The machine's name as it is: that of the resolver may take long to come.
    name = socket.gethostname()
    client, line = smtplib.SMTP(timeout=seconds, local_hostname=name), Line()
    host, port = way.place
    try:
        with cut_off(line.shut, stopping, seconds):
            client.sock = line.open(host, port, seconds, context if way.security == "tls" else None)
            # What the constructor keeps of a host, by which STARTTLS verifies the certificate; with it, it would
            # connect at once and out of reach.
            client._host = host  # type: ignore[attr-defined]
            code, _ = client.getreply()
            if code != 220:
                raise DeliveryError(f"the mail server answered with code {code}")
            if way.security == "starttls":
                client.starttls(context=context)
            if way.user:
                client.login(way.user, password)
            client.send_message(written(way, message))
    except smtplib.SMTPResponseException as error:
        raise DeliveryError(f"the mail server answered with code {error.smtp_code}") from None
    except smtplib.SMTPException as error:
        raise DeliveryError(f"the mail server refused: {type(error).__name__}") from None
    except ssl.SSLError as error:
        raise DeliveryError(f"TLS failed: {error.reason or type(error).__name__}") from None
    except OSError as error:
        raise DeliveryError(f"the mail server cannot be reached: {type(error).__name__}") from None
    finally:
        with suppress(OSError, smtplib.SMTPException):
            client.close()
        line.close()
