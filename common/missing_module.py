"""A package that is not installed, as an error that names it and the command that installs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gemel.common.errors import ErrorCode, GemelError

_PACKAGES = {
    "adbc": ("adbc_driver_manager", "adbc_driver_postgresql", "adbc_driver_sqlite"),
    "report": ("altair", "jinja2", "vl_convert"),
    "console": ("authlib", "httpx", "python_multipart", "starlette", "uvicorn"),
    "cluster": ("dask", "distributed"),
    "records": ("fastexcel", "pyreadstat"),
    "vault": ("hvac",),
    "notebook": ("nbclient", "nbformat", "pandas", "pyarrow"),
    "objects": ("obstore",),
    "pkcs11": ("pkcs11",),
    "postgres": ("psycopg",),
}
EXTRAS = {package: extra for extra, packages in _PACKAGES.items() for package in packages}
"""Packages that only some commands and settings need, and the extra of this distribution that installs them."""


def installing(extra: str) -> str:
    """How an extra of this distribution is installed: never by its bare name, which an index may have of another's."""
    return f"pip install '.[{extra}]' in a checkout of Gemel, or of its wheel: pip install './FILE.whl[{extra}]'"


def imported(name: str) -> Any:
    """A module of a package that may be missing. Raises MODULE_MISSING."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise missing_module(error) from None


def missing_module(error: ModuleNotFoundError) -> GemelError:
    """The error for a module that could not be imported."""
    name = error.name or "a module"
    package = name.partition(".")[0]
    if package == "gemel":
        what = f"{name} is not installed: this installation of Gemel lacks a folder"
        remedy = "install it again with the folders that deploy/README.md lists for this party"
        return GemelError(ErrorCode.MODULE_MISSING, what, remedy=remedy)
    remedy = installing(EXTRAS[package]) if package in EXTRAS else f"pip install {package}"
    return GemelError(ErrorCode.MODULE_MISSING, f"{package} is not installed", remedy=remedy)
