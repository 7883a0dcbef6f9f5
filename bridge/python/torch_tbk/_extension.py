# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Finds the compiled part and loads it, once, into a PyTorch that it was built for."""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from types import ModuleType

_NAME = "torch_tbk._C"
_FILE = "_C.so"
_HERE = Path(__file__).resolve().parent
# There is no compiled part for less (TBK_TORCH_MINIMUM in bridge/cmake/torch.cmake), so this is
# asked before whether it is there.
_MINIMUM = "2.11"


def _folders() -> list[Path]:
    """Returns where the compiled part may lie, in the order of preference; one, where TBK_BUILD
    says so.
    """
    build = os.environ.get("TBK_BUILD")
    if build:
        return [Path(build) / "python" / "torch_tbk"]
    checkout = _HERE.parents[2]
    folders = [_HERE]
    if (checkout / "bridge" / "csrc").is_dir():
        folders.append(checkout / "build" / "python" / "torch_tbk")
    return folders


def _release(version: str) -> tuple[int, ...]:
    """(2, 13) of "2.13.0a0+git1234"."""
    return tuple(int(part) for part in version.split(".")[:2])


def _check(folder: Path, here: str) -> None:
    """Raises where loading would end in an undefined symbol, or worse. `here`: the version of
    PyTorch."""
    try:
        built = json.loads((folder / "_build_info.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ImportError(f"torch_tbk can't tell what {folder} was built for: {error}") from None
    # One release for the CPU and one for CUDA (2.13.0+cpu, 2.13.0+cu130) have the same interface.
    if here.partition("+")[0] != built["torch"].partition("+")[0]:
        raise ImportError(
            f"torch_tbk was built for torch {built['torch']}, and this is torch {here}: "
            f"build it again, for this one"
        )
    python = ".".join(str(part) for part in sys.version_info[:2])
    if python != built["python"]:
        raise ImportError(f"torch_tbk was built for Python {built['python']}; this is {python}")


def _fitting(here: str) -> Path:
    """Returns the compiled part for this version of PyTorch. ImportError, in one line, where it is
    missing or for another one."""
    if _release(here) < _release(_MINIMUM):
        raise ImportError(f"torch_tbk needs torch {_MINIMUM} or later; this is torch {here}")
    folders = _folders()
    folder = next((folder for folder in folders if (folder / _FILE).is_file()), None)
    if folder is None:
        places = " and ".join(str(folder) for folder in folders)
        raise ImportError(
            f"torch_tbk has no compiled part: there is no {_FILE} in {places}; "
            f"build it: pip install --no-build-isolation ."
        )
    _check(folder, here)
    return folder / _FILE


def _installed() -> str:
    """Returns the version in PyTorch's files; empty where these do not say it."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        return ""
    try:
        text = Path(found.origin).with_name("version.py").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
    said = re.search(r"^__version__ = ['\"](\d+\.\d+[^'\"]*)['\"]", text, re.MULTILINE)
    return said[1] if said else ""


def problem() -> str:
    """Returns why the compiled part cannot be loaded, as far as files tell; empty where nothing
    speaks against it. PyTorch, whose import takes seconds, is not imported, and may say more."""
    here = _installed()
    if here:
        try:
            _fitting(here)
        except ImportError as error:
            return str(error)
    return ""


@functools.cache
def extension() -> ModuleType:
    """Returns the compiled part. ImportError, in one line, where it is missing or for another
    PyTorch."""
    import torch  # noqa: PLC0415  # importing this package imports no PyTorch

    path = str(_fitting(str(torch.__version__)))
    loader = importlib.machinery.ExtensionFileLoader(_NAME, path)
    spec = importlib.machinery.ModuleSpec(_NAME, loader, origin=path)
    spec.has_location = True
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[_NAME] = module
    return module
