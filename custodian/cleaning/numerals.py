"""Numbers in one canonical form: no thousands signs, no superfluous zeros, the dot as the decimal sign."""

from __future__ import annotations

import re

_GROUPED = re.compile(r"([+-]?)(\d{1,3}(?:[, ']\d{3})+|\d{1,3}(?:\u2019\d{3})+)(?:\.(\d*))?", re.ASCII)
_PLAIN = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,2}))?", re.ASCII | re.IGNORECASE)


def clean_number(text: str) -> str | None:
    """A number in its canonical form, None if the text is not a number.

    ``007`` is ``7``, ``+1,234.50`` is ``1234.5``, ``12.0`` is ``12``, ``-0`` is ``0``, ``1.5e3`` is ``1500``. A comma,
    blank or apostrophe is a thousands sign, and only before every three digits: ``1,5`` may be one and a half or
    fifteen and is not guessed.
    """
    text = text.strip()
    if match := _GROUPED.fullmatch(text):
        whole, decimals, exponent = re.sub(r"\D", "", match[2]), match[3] or "", 0
    elif (match := _PLAIN.fullmatch(text)) and (match[2] or match[3]):
        whole, decimals, exponent = match[2], match[3] or "", int(match[4] or 0)
    else:
        return None
    if exponent > 0:
        whole, decimals = whole + decimals[:exponent].ljust(exponent, "0"), decimals[exponent:]
    elif exponent < 0:
        padded = whole.rjust(-exponent, "0")
        whole, decimals = padded[:exponent], padded[exponent:] + decimals
    whole, decimals = whole.lstrip("0") or "0", decimals.rstrip("0")
    number = f"{whole}.{decimals}" if decimals else whole
    return f"-{number}" if match[1] == "-" and number != "0" else number
