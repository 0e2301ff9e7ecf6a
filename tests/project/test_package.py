"""The package as pip sees it."""

from __future__ import annotations

import tarfile
from importlib import metadata, resources
from pathlib import Path

import pytest
from scikit_build_core.build import build_sdist

import holdfast
from tools.lint import markdown, tree

NEEDED_BY_THE_BUILD = [
    "CMakeLists.txt",
    "LICENSE",
    "cmake/bom.cdx.json.in",
    "cmake/CMakeLists.txt",
    "cmake/bom.cmake",
    "cmake/compiler.cmake",
    "cmake/embed_lua.py",
    "cmake/exports.map",
    "cmake/hiredis.cmake",
    "cpp/bindings/module.cpp",
    "lua/lock/acquire.lua",
    "docs/man/holdfast.1",
    "cmake/licenses/Apache-2.0.txt",
    "pyproject.toml",
    "python/README.md",
    "python/holdfast/__init__.py",
    "python/holdfast/py.typed",
    "python/holdfast_tools/py.typed",
]


def test_the_page_of_the_package_is_the_checked_one() -> None:
    project = (tree.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'readme = "{markdown.PACKAGE_PAGE}"' in project


def test_nothing_is_needed_at_run_time() -> None:
    required = metadata.requires("holdfast-locks") or []
    assert [line for line in required if "extra ==" not in line] == []


def test_the_extras_are_the_documented_ones() -> None:
    extras = metadata.metadata("holdfast-locks").get_all("Provides-Extra") or []
    integrations = {
        "celery",
        "django",
        "fastapi",
        "opentelemetry",
        "prometheus",
        "redis-py",
        "trio",
    }
    tools = {"cli", "pytest", "server", "test", "web"}
    assert set(extras) == integrations | tools


def test_the_version_is_the_same_everywhere() -> None:
    assert holdfast.__version__ == metadata.version("holdfast-locks")


def test_the_command_is_installed_under_both_names() -> None:
    commands = [
        entry
        for entry in metadata.entry_points(group="console_scripts")
        if entry.dist is not None and entry.dist.name == "holdfast-locks"
    ]
    assert {command.name for command in commands} == {"holdfast", "holdfast-locks"}
    assert {command.value for command in commands} == {"holdfast_tools.__main__:main"}
    assert all(callable(command.load()) for command in commands)


def test_the_package_says_that_it_is_typed() -> None:
    assert resources.files("holdfast").joinpath("py.typed").is_file()


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files of a source distribution made from this checkout."""
    folder = tmp_path_factory.mktemp("sdist")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tree.ROOT)
        name = build_sdist(str(folder))
    with tarfile.open(folder / name) as archive:
        return {str(Path(*Path(member).parts[1:])) for member in archive.getnames()}


def test_the_source_distribution_holds_what_the_build_needs(sdist: set[str]) -> None:
    assert set(NEEDED_BY_THE_BUILD) - sdist == set()


def test_the_source_distribution_holds_every_source(sdist: set[str]) -> None:
    folders = {"cmake", "cpp", "lua", "python"}
    sources = {path.as_posix() for path in tree.files() if path.parts[0] in folders}
    assert sources - sdist == set()


def test_the_source_distribution_holds_nothing_built(sdist: set[str]) -> None:
    assert [name for name in sdist if name.startswith("build/") or name.endswith(".so")] == []
