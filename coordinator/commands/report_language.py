"""The option ``--language`` of commands that write reports."""

from __future__ import annotations

from typing import Annotated

import typer

from gemel.common.language import LanguageCode

ReportLanguage = Annotated[
    LanguageCode, typer.Option("--language", help="Language of the reports; files of data stay English.")
]
"""Of a command that has no configuration."""

ConfiguredLanguage = Annotated[
    LanguageCode | None,
    typer.Option(
        "--language",
        help="Language of the report; by default that of the configuration, which is en where it names none.",
    ),
]
