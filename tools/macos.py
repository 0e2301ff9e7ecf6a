"""Builds the engine and the Python module for macOS on Linux: python -m tools.macos [TARGET].

By zig's Clang, with its headers and stubs of macOS (the package ziglang has to be installed). There
is no OpenSSL for macOS here, so without TLS; Python's headers are this machine's. A module may
leave symbols to the Python that loads it, so the engine is linked once more, whole and by itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools import glibc

OPTIONS = (
    *(
        "CMAKE_SYSTEM_NAME=Darwin",
        "CMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON",
        "CMAKE_BUILD_TYPE=Debug",
    ),
    *(f"CMAKE_{language}_FLAGS_DEBUG=-fno-sanitize=undefined" for language in ("C", "CXX")),
    *(f"HOLDFAST_{option}=ON" for option in ("BUILD_PYTHON", "UNITY", "WERROR")),
)


def main(arguments: list[str]) -> int:
    target = arguments[0] if arguments else "aarch64-macos"
    folder = Path("build/macos", target).resolve()
    compilers = glibc.write_compilers(target, folder / "bin")
    options = [f"-D{option}" for option in (*OPTIONS, *archivers(folder / "bin"))]
    # zig links no bundle (0.17); a shared library has the same symbols.
    rules = folder / "rules.cmake"
    rules.write_text('set(CMAKE_SHARED_MODULE_CREATE_CXX_FLAGS "-shared")\n', encoding="utf-8")
    options.append(f"-DCMAKE_PROJECT_INCLUDE={rules}")
    environment = os.environ | compilers
    tree = str(folder / "tree")
    jobs = str(os.cpu_count() or 1)
    for command in (
        ["cmake", "-S", ".", "-B", tree, *options],
        ["cmake", "--build", tree, "--parallel", jobs, "--target", "_core"],
        [compilers["CXX"], "-shared", "-o", f"{tree}/engine.dylib", *whole_engine(tree)],
    ):
        subprocess.run(command, env=environment, check=True)
    return 0


def archivers(folder: Path) -> list[str]:
    """Returns the options that name zig's archivers, as the system's do not know macOS."""
    options = []
    for name in ("ar", "ranlib"):
        glibc.write_script(folder / name, [name])
        options.append(f"CMAKE_{name.upper()}={folder / name}")
    return options


def whole_engine(tree: str) -> list[str]:
    return [f"-Wl,-force_load,{tree}/libholdfast_engine.a", f"{tree}/libholdfast_hiredis.a"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
