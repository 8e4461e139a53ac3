"""The base of models whose attributes are described by docstrings, which their JSON Schemas contain.

Pydantic's own `use_attribute_docstrings` reads the source of every model as it is imported: half a second of each
service's start, for descriptions that only a schema needs. Here they are read when a schema is made.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue


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
