"""A package that is not installed, as an error that names it and the command that installs it."""

from __future__ import annotations

from tryst.common.errors import ErrorCode, TrystError

EXTRAS = {
    "adbc_driver_manager": "adbc",
    "adbc_driver_postgresql": "adbc",
    "adbc_driver_sqlite": "adbc",
    "altair": "report",
    "authlib": "console",
    "dask": "cluster",
    "distributed": "cluster",
    "fastexcel": "records",
    "httpx": "console",
    "hvac": "vault",
    "jinja2": "report",
    "nbclient": "notebook",
    "nbformat": "notebook",
    "obstore": "objects",
    "pandas": "notebook",
    "pkcs11": "pkcs11",
    "psycopg": "postgres",
    "pyarrow": "notebook",
    "pyreadstat": "records",
    "python_multipart": "console",
    "starlette": "console",
    "uvicorn": "console",
    "vl_convert": "report",
}
"""Packages that only some commands and settings need, and the extra of this distribution that installs them."""


def missing_module(error: ModuleNotFoundError) -> TrystError:
    """The error for a module that could not be imported."""
    name = error.name or "a module"
    package = name.partition(".")[0]
    if package == "tryst":
        return TrystError(
            ErrorCode.MODULE_MISSING,
            f"{name} is not installed: this installation of Tryst lacks a folder",
            remedy="install it again with the folders that deploy/README.md lists for this party",
        )
    requirement = f"'tryst[{EXTRAS[package]}]'" if package in EXTRAS else package
    return TrystError(ErrorCode.MODULE_MISSING, f"{package} is not installed", remedy=f"pip install {requirement}")
