"""One name means one thing: what a package exports is never the name of one of its submodules."""

from __future__ import annotations

from tests.architecture.tree import benchmarks, product


def test_no_package_exports_a_name_that_is_also_one_of_its_submodules() -> None:
    """``import a.b.c`` and ``from a.b import c`` would be a module and a function, by the spelling."""
    modules = product() | benchmarks()
    both = [
        f"{name}.{bound}"
        for name, module in modules.items()
        for bound in (*module.definitions, *module.imports)
        if f"{name}.{bound}" in modules and module.is_package
    ]
    assert both == []
