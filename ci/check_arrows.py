#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fail where a room of the project sees one that it must not see; docs/layout.md says which."""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^[ \t]*#\s*include\s*[<"](?P<path>[^">]+)[">]', re.MULTILINE)
PACKAGES = {
    "contracts": "tbk_contracts",
    "harness": "tbk_harness",
    "reports": "tbk_reports",
    "bridge": "torch_tbk",
}
# Room: the packages that its Python may import besides its own.
MAY_IMPORT = {
    "contracts": set[str](),
    "reference_backends": set[str](),
    "bridge": set[str](),
    "harness": {"tbk_contracts", "tbk_reports"},
    "reports": set[str](),
}
# Room: the rooms whose private headers its C may include besides its own. <tbk/...> is for all.
MAY_INCLUDE = {
    "contracts": set[str](),
    "reference_backends": set[str](),
    "bridge": set[str](),
    "harness": {"contracts"},
    "reports": set[str](),
}
# Sees nothing of the project but itself, tbk.h included; its headers for others are <vdev/...>.
VIRTUAL_DEVICE = "reference_backends/virtual_device"
# Frozen versions of the interface, a folder each: they see themselves alone, and nobody sees them.
FROZEN = "contracts/compat"
# Where Python may import PyTorch: the bridge, what runs inside of PyTorch, and the tests of that.
MAY_IMPORT_PYTORCH = (
    "bridge/",
    "contracts/python/tbk_contracts/torch/",
    "contracts/python/tests/",
    "contracts/rows/",
    "harness/python/tbk_harness/kill_worker.py",
    "harness/python/tbk_harness/torch_worker/",
    "harness/tests/torch_acts/",
)
# How a program of CUnit suites ends: no part of the project, so that the tests of every room may.
FOR_TESTS = PurePosixPath("cunit_run.h")
# Where PyTorch's headers begin; only the bridge may include them.
PYTORCH = {"ATen", "c10", "caffe2", "pybind11", "torch"}


def tracked(root: Path, *suffixes: str) -> list[Path]:
    """Returns files that git knows, tracked or new, with one of the suffixes."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    paths = [root / name for name in listed if name.endswith(suffixes)]
    return sorted(path for path in paths if path.is_file())


def room_of(root: Path, path: Path) -> str:
    """Returns the folder at the top that a file lies in."""
    return path.relative_to(root).parts[0]


def private_headers(root: Path) -> dict[str, list[Path]]:
    """Returns the headers that are not <tbk/...>, nor of a frozen version, by file name."""
    headers: dict[str, list[Path]] = {}
    for path in tracked(root, ".h", ".hpp"):
        if "include/tbk" not in path.as_posix() and not path.is_relative_to(root / FROZEN):
            headers.setdefault(path.name, []).append(path)
    return headers


def include_faults(root: Path) -> Iterator[str]:
    """#include lines that leave their room."""
    headers = private_headers(root)
    for path in tracked(root, ".c", ".h", ".cpp", ".hpp"):
        room = room_of(root, path)
        if room not in MAY_INCLUDE:
            continue
        text = path.read_text(errors="replace")
        for found in INCLUDE.finditer(text):
            target = PurePosixPath(found["path"])
            line = text.count("\n", 0, found.start()) + 1
            if leaves_version(root, path, target, headers):
                yield f"{path.relative_to(root)}:{line}: {target} crosses a frozen version's border"
            if path.is_relative_to(root / FROZEN):
                continue
            owner = include_owner(root, path, target, headers)
            if owner == "PyTorch" and room == "bridge":
                continue
            if owner is not None and owner not in MAY_INCLUDE[room] | {room}:
                yield f"{path.relative_to(root)}:{line}: {room} includes {target} of {owner}"
            elif crosses_seam(root, path, target, headers):
                yield f"{path.relative_to(root)}:{line}: {target} crosses the virtual device's seam"


def leaves_version(
    root: Path, path: Path, target: PurePosixPath, headers: dict[str, list[Path]]
) -> bool:
    """Returns whether a frozen version includes what it does not hold, or others what it does."""
    frozen = root / FROZEN
    beside = (path.parent / target).resolve()
    if not path.is_relative_to(frozen):
        return beside.is_file() and beside.is_relative_to(frozen)
    version = frozen / path.relative_to(frozen).parts[0]
    if target.parts[0] == "tbk":
        return not (version / "include" / target).is_file()
    if beside.is_file():
        return not beside.is_relative_to(version)
    return any(header.match(str(target)) for header in headers.get(target.name, []))


def crosses_seam(
    root: Path, path: Path, target: PurePosixPath, headers: dict[str, list[Path]]
) -> bool:
    """Returns whether the virtual device and others include what the seam keeps apart."""
    seam = root / VIRTUAL_DEVICE
    inside = path.is_relative_to(seam)
    if target.parts[0] == "tbk":
        return inside
    if target == FOR_TESTS:
        return False
    beside = (path.parent / target).resolve()
    meant = [beside] if beside.is_file() else []
    meant = meant or [
        header for header in headers.get(target.name, []) if header.match(str(target))
    ]
    owned = [header.is_relative_to(seam) for header in meant]
    if inside:
        return bool(owned) and not any(owned)
    return bool(owned) and all(owned) and target.parts[0] != "vdev"


def include_owner(
    root: Path, path: Path, target: PurePosixPath, headers: dict[str, list[Path]]
) -> str | None:
    """Returns the room that an included header lies in, or PyTorch; None for <tbk/...> and for
    others'."""
    if target.parts[0] == "tbk" or target == FOR_TESTS:
        return None
    if target.parts[0] in PYTORCH:
        return "PyTorch"
    if ".." in target.parts:
        resolved = (path.parent / target).resolve()
        return room_of(root, resolved) if resolved.is_relative_to(root) else "nobody"
    # <sys/wait.h> is not our wait.h: all of what is written must fit.
    meant = [header for header in headers.get(target.name, []) if header.match(str(target))]
    owners = {room_of(root, header) for header in meant}
    room = room_of(root, path)
    return room if room in owners else min(owners, default=None)


def imported(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yields the top names of all imports, and their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.partition(".")[0], node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.partition(".")[0], node.lineno


def import_faults(root: Path) -> Iterator[str]:
    """Python imports that leave their room, or import PyTorch where that may not be."""
    packages = set(PACKAGES.values()) | {"torch"}
    for path in tracked(root, ".py"):
        room = room_of(root, path)
        if room not in MAY_IMPORT:
            continue
        allowed = MAY_IMPORT[room] | {PACKAGES.get(room, "")}
        if path.relative_to(root).as_posix().startswith(MAY_IMPORT_PYTORCH):
            allowed |= {"torch"}
        for name, line in imported(ast.parse(path.read_text(), str(path))):
            if name in packages and name not in allowed:
                yield f"{path.relative_to(root)}:{line}: {room} imports {name}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT)
    root: Path = parser.parse_args().root.resolve()
    faults = [*include_faults(root), *import_faults(root)]
    for fault in faults:
        print(fault)
    count = len(tracked(root, ".c", ".h", ".cpp", ".hpp", ".py"))
    print(f"check_arrows: {count} files; {len(faults) or 'no'} arrows back")
    if count == 0:
        print("check_arrows: nothing to check", file=sys.stderr)
        return 2
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
