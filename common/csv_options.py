"""Options of a command that reads CSV files of any form: encoding and separator, found where they are not given.

`CsvOptions(encoding, separator).checked()` of `common.records.csv_form` takes what a user gives.
"""

from __future__ import annotations

from typing import Annotated

import typer

EncodingOption = Annotated[
    str | None,
    typer.Option("--encoding", help="Text encoding of CSV files, such as cp1252; found if not given."),
]
SeparatorOption = Annotated[
    str | None,
    typer.Option("--separator", help="Separator of CSV files, such as ';' or tab; found if not given."),
]
