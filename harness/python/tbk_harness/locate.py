# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Where the binaries and the data files are: in a checkout, installed, or inside the wheel."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

from tbk_contracts import contracts_root

_HERE = Path(__file__).resolve().parent


def checkout() -> Path | None:
    """Returns the root of the checkout that this package is used from, if it is."""
    root = _HERE.parents[2]
    return root if (root / "harness" / "schema").is_dir() else None


def build_folders() -> list[Path]:
    found = [Path(os.environ["TBK_BUILD"])] if os.environ.get("TBK_BUILD") else []
    root = checkout()
    return [*found, root / "build"] if root else found


def binary(name: str, variable: str = "") -> Path | None:
    """Returns a program of the suite: by environment, next to the package, in the build folder, on
    PATH."""
    stated = os.environ.get(variable) if variable else None
    if stated:
        return Path(stated) if os.access(stated, os.X_OK) else None
    for folder in [_HERE / "bin", *(build / "bin" for build in build_folders())]:
        if os.access(folder / name, os.X_OK):
            return folder / name
    on_path = shutil.which(name)
    return Path(on_path) if on_path else None


def tbk_run() -> Path | None:
    return binary("tbk-run", "TBK_RUN")


def tbk_cunit() -> Path | None:
    """The tests in C in one process."""
    return binary("tbk-cunit", "TBK_CUNIT")


def library(name: str) -> Path | None:
    """Returns a backend of this project, by the name that its file has."""
    for folder in [_HERE / "lib", *(build / "lib" for build in build_folders())]:
        path = folder / f"libtbk_{name}.so"
        if path.is_file():
            return path
    return None


def libraries() -> list[str]:
    """Returns the names of this project's backends that are there."""
    folders = [_HERE / "lib", *(build / "lib" for build in build_folders())]
    paths = [path for folder in folders for path in folder.glob("libtbk_*.so")]
    return sorted({path.stem.removeprefix("libtbk_") for path in paths})


def bridge() -> Path | None:
    """Returns the bridge's own library, as torch_tbk would load it."""
    spec = importlib.util.find_spec("torch_tbk")
    package = [Path(spec.origin).parent] if spec and spec.origin else []
    built = [build / "python" / "torch_tbk" for build in build_folders()]
    folders = built[:1] if os.environ.get("TBK_BUILD") else [*package, *built]
    return next((one / "_C.so" for one in folders if (one / "_C.so").is_file()), None)


def _data(packaged: str, in_checkout: str) -> Path:
    inside = _HERE / "data" / packaged
    root = checkout()
    return root / in_checkout if root and not inside.exists() else inside


def result_schema() -> Path:
    return _data("schema", "harness/schema") / "results.schema.json"


def template() -> Path:
    return _data("template", "reference_backends/template")


def template_generic() -> Path:
    """Returns the folder of what the template gets where it has kernels by a compiler."""
    return _data("template_generic", "reference_backends/template_generic")


def template_named() -> Path:
    """Returns the folder of what the template gets where it has operators by name."""
    return _data("template_named", "reference_backends/template_named")


def emitter() -> Path:
    """Returns the sources of what writes kernels from programs."""
    return _data("emit", "reference_backends/emit")


def programs() -> Path:
    """Returns the sources of the library of programs."""
    return _data("program", "contracts/program")


def include() -> Path:
    """Returns the folder that holds tbk/tbk.h."""
    return contracts_root() / "include"


def alone() -> Path:
    """Returns the folder that holds tbk_alone.h, which C files of litmus programs include."""
    return contracts_root() / "alone"
