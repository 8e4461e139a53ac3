"""A package that is not installed, as an error that names it and what installs it."""

from __future__ import annotations

from tryst.common.errors import ErrorCode, TrystError

DISTRIBUTION = "tryst"
"""Name of this distribution. No index of packages has it: who asks one for the name gets another program."""

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


def installing(extra: str) -> str:
    """What installs an extra of this distribution, as the remedy of an error.

    Parameters
    ----------
    extra : str
        One of ``project.optional-dependencies`` in ``pyproject.toml``.

    Returns
    -------
    str
        The command in a checkout, the one beside a wheel of this version, and where a service's is to be found.
    """
    from importlib.metadata import version

    wheel = f"{DISTRIBUTION}-{version(DISTRIBUTION)}-py3-none-any.whl"
    return (
        f"pip install '.[{extra}]' in a checkout of Tryst, pip install './{wheel}[{extra}]' beside its wheel; for a"
        " service see deploy/README.md"
    )


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
    # What is not ours, as a database's driver that only an URL of the operator's names, has its own name on the index.
    remedy = installing(EXTRAS[package]) if package in EXTRAS else f"pip install {package}"
    return TrystError(ErrorCode.MODULE_MISSING, f"{package} is not installed", remedy=remedy)
