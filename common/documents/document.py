"""The base of every public document: strict, immutable pydantic models, and how they are read and written."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue

from gemel.common.errors import ErrorCode, GemelError, GemelErrors, parameter


class DescribedModel(BaseModel):
    """An immutable, strict model that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema with each property's description, where its field gives none."""
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, text in attribute_docstrings(cls).items():
            entry = properties.get(cls.model_fields[name].alias or name)
            if entry is not None:
                entry.setdefault("description", text)
        return schema


@cache
def attribute_docstrings(model: type[BaseModel]) -> Mapping[str, str]:
    """The docstring below each attribute of a model, its bases' included."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not issubclass(base, DescribedModel):
            continue
        try:
            source = inspect.getsource(base)
        except OSError:  # made by `create_model`, or a generic model's with its parameters: no class in the source
            continue
        definition = next(ast.iter_child_nodes(ast.parse(textwrap.dedent(source))))
        for attribute, below in pairwise(ast.iter_child_nodes(definition)):
            match attribute, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    found[name] = inspect.cleandoc(text)
    return found


MAX_BYTES = 64 << 20
MAX_SHOWN = 20
"""Errors of one document that are reported."""

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class Part(DescribedModel):
    """A part of a document: finite numbers, and no entry that the model does not describe.

    An entry whose default is null may be absent.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    def plain(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_unset=True)


class Document(Part):
    """A document that is stored, sent and shown: JSON of counts and parameters, with no record in it."""

    @classmethod
    def of(cls, content: object, where: str) -> Self:
        """Check plain dictionaries and lists, as read from JSON; `where` is the document's name in errors. Raises
        `GemelErrors`: PARAMETER, with every error and its place; never a value."""
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise _refused(error, where) from None

    @classmethod
    def read(cls, text: bytes, where: str, max_bytes: int = MAX_BYTES) -> Self:
        """Read a document from JSON; UPLOAD_LIMIT if it is longer than `max_bytes`; as `of` otherwise."""
        if len(text) > max_bytes:
            raise GemelError(ErrorCode.UPLOAD_LIMIT, f"the document is longer than {max_bytes:,} bytes", where=where)
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise _refused(error, where) from None

    def written(self) -> bytes:
        """The document as indented JSON with a line end."""
        return (json.dumps(self.plain(), indent=2, allow_nan=False) + "\n").encode()


def one_length(**arrays: list[Any]) -> None:
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise ValueError(f"arrays must have one length, got {got}")


def _refused(error: ValidationError, where: str) -> GemelErrors:
    found = []
    for entry in error.errors(include_url=False, include_context=False, include_input=False)[:MAX_SHOWN]:
        place = where + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in entry["loc"])
        words = entry["msg"].removeprefix("Value error, ")
        found.append(parameter(place, words))
    return GemelErrors(ErrorCode.PARAMETER, found, where=where)


KEY = "gemel"
"""Of the file's metadata that holds it, as JSON."""

CLASSES = (
    "the chance that the two records are of one person, given both files, as the mean of a class of links or of other"
    " pairs"
)
EXACT = "the chance that the two records are of one person, given both files, to the last digit"

LINKED_FILES = {"links": "linked.parquet", "draws": "linked_draws.parquet"}
"""In a custodian's folder of results: its links, and drawn links, with columns that the other custodian has sent."""


class Provenance(Document):
    """Of which run a table is, and what stands in it."""

    project: str
    run: str
    """The run's name at Carole; "in process" where `gemel.link` made it."""
    table: Literal["links", "pairs", "draws", "copies", "entities"]
    sides: list[Literal["alice", "bob"]] = Field(min_length=1, max_length=2)
    """Whose identifiers or variables are in it."""
    specification_digest: str
    """Hexadecimal."""
    encoding_digest: str
    assignment: str
    """`links.assignment` of the specification: under clusters a link's id is on all records of its person."""
    exact: bool
    """Whether link probabilities are exact; else means of classes."""
    probabilities: str
    """What they mean."""
    created: str
    """ISO 8601 with its offset."""
    version: str
    """Of Gemel."""

    def metadata(self) -> dict[str, str]:
        """What is put into a Parquet file's metadata."""
        return {KEY: self.model_dump_json()}


def read_provenance(path: Path) -> Provenance:
    """The provenance in a Parquet file. Raises `GemelError`: SOURCE if the file is no Parquet, or has no provenance;
    PARAMETER if that is malformed."""
    import polars as pl  # what most documents are read without

    try:
        found = pl.read_parquet_metadata(path).get(KEY)
    except (OSError, pl.exceptions.PolarsError):
        raise GemelError(ErrorCode.SOURCE, "cannot be read as a Parquet file", where=str(path)) from None
    if found is None:
        what = "a table of linked records has its provenance in its metadata"
        remedy = "give the table as the custodian's service or `gemel join` wrote it"
        raise GemelError(ErrorCode.SOURCE, what, where=str(path), got="none", remedy=remedy)
    return Provenance.read(found.encode(), f"provenance of {path}")
