# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk new: a folder that builds and passes, made from the template backend."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tbk_harness.locate import (
    emitter,
    include,
    programs,
    template,
    template_generic,
    template_named,
)

NAME = re.compile(r"[a-z][a-z_]{0,30}")

# Device types of PyTorch: a backend that took one of these names could never be reached.
PYTORCH_TYPES = """
cpu cuda mkldnn opengl opencl ideep hip fpga maia xla vulkan metal xpu mps meta hpu ve lazy ipu
mtia privateuse1 privateuseone
"""
# Names of this project and of PyTorch, and targets that CMake keeps for itself.
TAKEN = "tbk template torch python all clean help install package test none"
# What belongs to the template inside the checkout, and what takes its place in a copy.
LEFT_OUT = frozenset({"CMakeLists.txt", "README.md"})
RENAMED = {"CMakeLists.standalone.txt": "CMakeLists.txt", "README.standalone.md": "README.md"}


# What a backend with generic kernels builds of the emitter and of the library of programs.
SOURCES = ("*.c", "*.h", "embed.cmake", "include/*/*.h", "kernels/*.inc")


class SkeletonError(ValueError):
    """Why there will be no skeleton, in one line."""


def check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise SkeletonError(
            f"{name!r} cannot be the name of a device: a small letter, then at most 30 small "
            "letters and underscores"
        )
    if name in PYTORCH_TYPES.split():
        raise SkeletonError(f"PyTorch keeps the name {name!r} for a device of its own")
    if name in TAKEN.split():
        raise SkeletonError(f"the name {name!r} is taken")


def _substituted(text: str, name: str) -> str:
    text = text.replace("tbk_template", name).replace("template", name)
    return text.replace("TEMPLATE", name.upper())


def _copy_filled_in(source: Path, target: Path, name: str) -> None:
    """Copies the files of a folder, under the name of the backend."""
    for path in sorted(source.iterdir()):
        if not path.is_file() or path.name in LEFT_OUT:
            continue
        plain = RENAMED.get(path.name) or _substituted(path.name, name)
        (target / plain).write_text(_substituted(path.read_text("utf-8"), name), "utf-8")


def _copy_emitter(target: Path) -> None:
    """Copies what writes kernels from programs, as it is: emit/ and program/."""
    for source, folder in ((emitter(), "emit"), (programs(), "program")):
        for pattern in SOURCES:
            for path in sorted(source.glob(pattern)):
                copied = target / folder / path.relative_to(source)
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copied)


def _copy(source: Path, target: Path, name: str, kernels: str) -> None:
    _copy_filled_in(source, target, name)
    if kernels == "generic":
        _copy_filled_in(template_generic(), target, name)
        _copy_emitter(target)
    if kernels == "named":
        _copy_filled_in(template_named(), target, name)
    headers = target / "include" / "tbk"
    headers.mkdir(parents=True)
    for header in sorted((include() / "tbk").glob("*.h")):
        shutil.copyfile(header, headers / header.name)


def make(name: str, parent: Path, kernels: str = "none") -> Path:
    """Writes the folder NAME; all of it, or nothing. Raises SkeletonError and OSError.

    `kernels` is "none", "generic" for the generic kernels by a compiler, or "named" for operators
    by their names.
    """
    check_name(name)
    target = parent / name
    if target.exists() or target.is_symlink():
        raise SkeletonError(f"{target} is there already; nothing was written")
    source = template()
    if not source.is_dir():
        raise SkeletonError(f"the template is missing at {source}")
    waiting = parent / f".{name}.tbk-new"
    if waiting.exists():
        shutil.rmtree(waiting)
    waiting.mkdir()
    try:
        _copy(source, waiting, name, kernels)
        waiting.rename(target)
    except OSError:
        shutil.rmtree(waiting, ignore_errors=True)
        raise
    return target
