"""What a build for macOS is made with."""

from __future__ import annotations

from pathlib import Path

from tools import macos


def test_the_archivers_are_zigs(tmp_path: Path) -> None:
    options = macos.archivers(tmp_path)
    assert options == [f"CMAKE_AR={tmp_path / 'ar'}", f"CMAKE_RANLIB={tmp_path / 'ranlib'}"]
    assert (tmp_path / "ranlib").read_text(encoding="utf-8").endswith(' -m ziglang ranlib "$@"\n')


def test_all_of_the_engine_has_to_link() -> None:
    engine, _hiredis = macos.whole_engine("tree")
    assert engine == "-Wl,-force_load,tree/libholdfast_engine.a"
