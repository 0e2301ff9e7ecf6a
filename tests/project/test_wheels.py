"""The check of wheels before a release."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import holdfast._core
from tools import wheels


def test_the_module_exports_its_entry_only() -> None:
    module = Path(holdfast._core.__file__).read_bytes()
    assert wheels.exported(module) == wheels.ENTRY


def test_what_a_wheel_lacks_is_named(tmp_path: Path) -> None:
    wheel = tmp_path / "holdfast_locks-1-cp311-cp311-linux_x86_64.whl"
    with ZipFile(wheel, "w") as archive:
        archive.writestr("holdfast/py.typed", b"")
        archive.writestr("padding", bytes(wheels.LARGEST))
    found = wheels.faults(wheel)
    assert any("bytes, at most" in fault for fault in found)
    assert any("not repaired" in fault for fault in found)
    assert "lacks holdfast/_core*.so" in found
    assert "lacks holdfast/py.typed" not in found


def test_a_bill_of_materials_names_what_is_inside(tmp_path: Path) -> None:
    wheel = tmp_path / "holdfast_locks-1-cp311-cp311-manylinux_2_28_x86_64.whl"
    lacks_openssl = "no bill of materials has openssl"
    for part, expected in (("zlib", True), ("openssl-libs", False)):
        bill = {"components": [{"name": "hiredis"}, {"name": "pybind11"}, {"name": part}]}
        with ZipFile(wheel, "w") as archive:
            archive.writestr("holdfast_locks-1.dist-info/sboms/any.cdx.json", json.dumps(bill))
        assert (lacks_openssl in wheels.faults(wheel)) is expected


def test_openssl_is_beside_the_module(tmp_path: Path) -> None:
    wheel = tmp_path / "holdfast_locks-1-cp311-cp311-manylinux_2_28_x86_64.whl"
    for content, expected in ((b"", True), (b"AES, CRYPTOGAMS by", False)):
        with ZipFile(wheel, "w") as archive:
            archive.writestr("holdfast_locks.libs/libcrypto-1.so.3", content)
        assert ("no OpenSSL inside" in wheels.faults(wheel)) is expected


def test_a_folder_without_wheels_is_an_error(tmp_path: Path) -> None:
    assert wheels.main([str(tmp_path)]) == 1
