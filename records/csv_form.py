"""How a CSV file of another program is written: its text encoding and its separator, found or given.

Commands that read a file for a trial find both and say so. A custodian's service declares them in its configuration,
where a file that is suddenly written otherwise is an error to be seen and not one to be guessed around; only where it
says ``detect`` are they found there too, and stated.

UTF-8 is certain: text of another encoding with a letter outside ASCII is hardly ever valid UTF-8 by chance. So a file
of which some letters are valid UTF-8, and more of them than are not, is UTF-8 with a broken line, which its reader
refuses by that line; as windows-1252 it would be read without an error, with two wrong letters for each. UTF-16 and
UTF-32 are known by their byte order mark, UTF-16 also by the zero bytes of its ASCII characters. What is none of these
is taken for windows-1252, or for latin-1 where it has a byte that windows-1252 leaves undefined; other encodings of one
byte per character cannot be distinguished from them, and are to be given.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from gemel.common.errors import ErrorCode, GemelError, parameter
from gemel.records.sources import DETECT, CsvSource, Source, known_encoding, one_character
from gemel.records.table import unreadable

SEPARATORS = (",", ";", "\t", "|")
"""Separators that are sought, in the order of preference."""
NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|"}
"""What a separator may be called on a command line, where some are hard to type."""

_BLOCK = 1 << 20
_HEAD = 1 << 16
_LINES = 100
_ALIKE = 0.8
"""Share of the first lines that have as many columns as the first: a broken one is for the reader to report."""
_OUTSIDE = re.compile(r"[^\x00-\x7f]")
_ESCAPED = re.compile("[\udc80-\udcff]")
"""What a byte that is not UTF-8 is decoded to."""
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # UTF-32's little-endian mark begins with UTF-16's, so the longer is tried first.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class CsvOptions:
    """What a user gives of a file's form; None: it is found."""

    encoding: str | None = None
    separator: str | None = None

    @classmethod
    def of_files(cls, encodings: Sequence[str], separators: Sequence[str]) -> tuple[CsvOptions, CsvOptions]:
        """Those of Alice's and of Bob's file: an option given once holds for both, given twice for one each. Raises
        `GemelError`: PARAMETER for more than two values, or one that is no encoding or no separator."""
        pairs = []
        for option, values in (("--encoding", encodings), ("--separator", separators)):
            if len(values) > 2:
                remedy = "give it once for both, or twice: for Alice's file, then for Bob's"
                raise parameter(option, "there are two files", f"{len(values)} values", remedy)
            pairs.append([values[0], values[-1]] if values else [None, None])
        alice, bob = (cls(encoding, separator).checked() for encoding, separator in zip(*pairs, strict=True))
        return alice, bob

    def checked(self) -> CsvOptions:
        """The same, separators by name as characters; PARAMETER for what is no encoding or no separator."""
        separator = None if self.separator is None else NAMES.get(self.separator.lower(), self.separator)
        _check("--encoding", self.encoding, known_encoding)
        _check("--separator", separator, one_character)
        return CsvOptions(self.encoding, separator)


def _check(option: str, value: str | None, check: Callable[[str], str]) -> None:
    if value is None:
        return
    try:
        check(value)
    except ValueError as error:
        raise parameter(option, str(error), repr(value[:40])) from None


def csv_source(path: Path, given: CsvOptions) -> CsvSource:
    """A CSV file as its source: what is not given of its form is found.

    Raises `GemelError`: SOURCE if the file cannot be read, or has one column by the separator given and several by
    another; TEXT_ENCODING if an encoding of one byte per character is given for a file that is UTF-8 with other
    letters than those of ASCII.

    Reads the whole file once to see whether it is UTF-8, a gigabyte in some seconds.
    """
    try:
        found = _encoding_of(path)
        _refuse_mistaken(path, given.encoding, found)
        encoding = given.encoding or found
        lines = _first_lines(path, encoding)
    except OSError as error:
        raise unreadable(path, error) from None
    likely = max(SEPARATORS, key=lambda separator: _width(lines, separator))
    separator = given.separator or likely
    if _width(lines, separator) <= 1 < _width(lines, likely):
        what = f"the file has no columns by the separator {separator!r}"
        got = f"{_width(lines, likely)} columns by {likely!r}"
        remedy = "leave out --separator, or give the file's own"
        raise GemelError(ErrorCode.SOURCE, what, where=str(path), got=got, remedy=remedy)
    return CsvSource(path=path, encoding=encoding, separator=separator)


def as_found(source: CsvSource) -> CsvSource:
    """The same with what it leaves to be found, an encoding or a separator that is ``detect``."""
    if DETECT not in (source.encoding, source.separator):
        return source
    kept = (None if given == DETECT else given for given in (source.encoding, source.separator))
    return csv_source(source.path, CsvOptions(*kept))


def read_as(source: Source) -> str:
    """How a CSV file is read, in words, what was left to be found as it was found; empty for any other kind."""
    if source.csv is None:
        return ""
    found = as_found(source.csv)
    return f"{found.path.name} is read as {found.encoding}, separated by {json.dumps(found.separator)}"


def settings_of(source: Source) -> str:
    """What a configuration needs below `csv` for a file to be read so; empty for UTF-8 with commas, and other kinds."""
    if source.csv is None:
        return ""
    found = as_found(source.csv)
    form = {"encoding": found.encoding, "separator": found.separator}
    declared = {name: value for name, value in form.items() if value != CsvSource.model_fields[name].default}
    return ", ".join(f"{name}: {json.dumps(value)}" for name, value in declared.items())


def form_line(source: Source, *, in_service: bool = True) -> str:
    """How a command reads a file, for people, and what a service's configuration would state (not unless `in_service`);
    empty for UTF-8 with commas, and for what is no CSV file."""
    if not (settings := settings_of(source)):
        return ""
    line = f"{read_as(source)}; --encoding and --separator override"
    return f"{line}. In a service's configuration, below csv: {settings}" if in_service else line


def likely_separator(header: str) -> str | None:
    """The separator that a first line has, if it has any."""
    best = max(SEPARATORS, key=lambda separator: _width([header], separator))
    return best if _width([header], best) > 1 else None


def _encoding_of(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(_HEAD)
    for mark, encoding in MARKS:
        if head.startswith(mark):
            return encoding
    even, odd = (head[start::2].count(0) for start in (0, 1))
    if max(even, odd) > len(head) // 4 and not min(even, odd):
        return "utf-16-le" if odd else "utf-16-be"
    if _decodes(path, "utf-8") or _is_broken_utf8(path):
        return "utf-8"
    return "cp1252" if _decodes(path, "cp1252") else "latin-1"


def _is_broken_utf8(path: Path) -> bool:
    """Whether more of a file's letters outside ASCII are valid UTF-8 than bytes are not."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    valid = wrong = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            text = decoder.decode(block)
            bad = len(_ESCAPED.findall(text))
            valid, wrong = valid + len(_OUTSIDE.findall(text)) - bad, wrong + bad
    return valid > wrong


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with path.open("rb") as file:
        try:
            while block := file.read(_BLOCK):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeError:
            return False
    return True


def _refuse_mistaken(path: Path, given: str | None, found: str) -> None:
    """Refuse an encoding in which any bytes are text, where the bytes are plainly UTF-8."""
    if given is None or found != "utf-8" or _decodes(path, "ascii"):
        return
    if len("é".encode(given, errors="replace")) == 1:
        what = f"the file is given as {given}, and is UTF-8: its letters would be read as others"
        raise GemelError(ErrorCode.TEXT_ENCODING, what, where=str(path), remedy="leave out --encoding")


def _first_lines(path: Path, encoding: str) -> list[str]:
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        try:
            return [line.lstrip("\ufeff") for line in islice(iter(lambda: file.readline(_HEAD), ""), _LINES)]
        except UnicodeError:
            return []


def _width(lines: Sequence[str], separator: str) -> int:
    """Columns by a separator, by which most of the first lines have as many as the first; 0 if they have not."""
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error:
        return 0
    return widths[0] if widths and widths.count(widths[0]) >= _ALIKE * len(widths) else 0
