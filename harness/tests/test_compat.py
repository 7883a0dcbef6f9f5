# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Libraries and hosts of other versions of the interface: what works, what is refused, and how."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from runs import BUILD, LIB, ROOT, run

COMPAT = ROOT / "contracts" / "compat"
FROZEN = sorted((LIB / "compat").glob("*/libtbk_*.so"))
RC = COMPAT / "1rc"
UNSUPPORTED = 3
CC = os.environ.get("CC") or "cc"
VERSION = "#define TBK_ABI_VERSION 0\n"

# A later header: a table and a function more, and a property more of a device.
LATER = {
    "core.h": ("} tbk_core_t;", "  void (*memory_trim)(tbk_instance_t* self);\n} tbk_core_t;"),
    "device.h": ("} tbk_device_properties_t;", "  uint64_t sockets;\n} tbk_device_properties_t;"),
    "backend.h": ("} tbk_backend_t;", "  const tbk_fault_ops_t* later;\n} tbk_backend_t;"),
}
# A host of that header: asks for what is new as TBK_HAS does, and looks that no more is written.
LATER_HOST = """\
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <tbk/tbk.h>

int main(int count, char** paths) {
  void* library = count == 2 ? dlopen(paths[1], RTLD_NOW) : NULL;
  void* symbol = library ? dlsym(library, TBK_ENTRY_SYMBOL) : NULL;
  if (!symbol) return 1;
  tbk_backend_create_fn create;
  memcpy(&create, &symbol, sizeof symbol);
  const tbk_host_t host = {sizeof host, TBK_ABI_VERSION, NULL, NULL, NULL};
  const tbk_backend_t* backend = NULL;
  tbk_error_t error = {""};
  if (create(&host, &backend, &error) != TBK_OK) return printf("%s\\n", error.message), 2;
  if (TBK_HAS(backend, tbk_backend_t, later)) return 3;
  if (TBK_HAS(backend->core, tbk_core_t, memory_trim)) return 4;
  tbk_device_properties_t all = {.struct_size = sizeof all, .sockets = 4711};
  if (backend->core->device_properties(backend->instance, 0, &all, &error) != TBK_OK) return 5;
  if (all.memory_alignment < 16 || all.sockets != 4711) return 6;
  backend->core->destroy(backend->instance);
  return 0;
}
"""


class Host(ctypes.Structure):
    """tbk_host_t, which is older than all versions."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("abi_version", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("log", ctypes.c_void_p),
        ("options", ctypes.c_char_p),
    )


def changed_header(folder: Path, changes: dict[str, tuple[str, str]]) -> Path:
    include = folder / "include"
    shutil.copytree(RC / "include", include)
    for name, (old, new) in changes.items():
        path = include / "tbk" / name
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))
    return include


def build(folder: Path, include: Path, *arguments: str) -> Path:
    built = folder / "built.so"
    flags = ("-std=c11", "-D_GNU_SOURCE", "-fPIC", "-pthread", f"-I{include}")
    subprocess.run([CC, *flags, *arguments, "-o", str(built)], check=True)
    return built


def library(folder: Path, include: Path) -> Path:
    return build(folder, include, "-shared", str(RC / "template" / "template.c"))


def test_there_are_frozen_backends() -> None:
    versions = {path.name for path in COMPAT.iterdir() if path.is_dir()}
    assert {path.parent.name for path in FROZEN} == versions
    assert len(FROZEN) == 2 * len(versions)


@pytest.mark.parametrize("frozen", FROZEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_result_says_for_which_version_it_was_built(output: Path, frozen: Path) -> None:
    done = run(frozen, output, "--only", "library")
    assert done.code == 0, done.stdout
    assert done.results().header["backend"]["abi_version"] == 0


def test_they_are_built_on_their_own_header() -> None:
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    seen = 0
    for entry in commands:
        file = Path(entry["file"])
        if not file.is_relative_to(COMPAT):
            continue
        seen += 1
        version = COMPAT / file.relative_to(COMPAT).parts[0]
        words = entry["command"].split()
        folders = [word for word in words if word.startswith(("-I", "-isystem", "-include"))]
        assert folders == [f"-I{version / 'include'}"]
        assert {"-std=c11", "-Wall", "-Wextra", "-Werror"} <= set(words)
    assert seen == len(list(COMPAT.glob("*/*/*.c")))


def test_a_library_of_a_later_version_is_refused_in_a_line(output: Path, tmp_path: Path) -> None:
    include = changed_header(tmp_path, {"types.h": (VERSION, VERSION.replace("0", "1"))})
    done = run(library(tmp_path, include), output)
    assert done.code == 4
    (line,) = done.stderr.strip().splitlines()
    assert line.endswith("tbk_backend_create answers UNSUPPORTED: ABI version")


@pytest.mark.parametrize("frozen", FROZEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_frozen_library_refuses_a_host_of_a_later_version(frozen: Path) -> None:
    create = ctypes.CDLL(str(frozen)).tbk_backend_create
    message = ctypes.create_string_buffer(256)
    made = ctypes.c_void_p(4711)
    host = Host(struct_size=ctypes.sizeof(Host), abi_version=1)
    assert create(ctypes.byref(host), ctypes.byref(made), message) == UNSUPPORTED
    assert b"ABI version" in message.value
    assert made.value == 4711


def test_a_library_of_a_header_that_has_grown_passes(output: Path, tmp_path: Path) -> None:
    done = run(library(tmp_path, changed_header(tmp_path, LATER)), output)
    assert done.code == 0, done.stdout
    assert done.results().footer["verdict"] == "pass"


@pytest.mark.parametrize("frozen", FROZEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_host_of_a_header_that_has_grown_takes_a_frozen_library(
    tmp_path: Path, frozen: Path
) -> None:
    include = changed_header(tmp_path, LATER)
    source = tmp_path / "host.c"
    source.write_text(LATER_HOST)
    host = build(tmp_path, include, str(source), "-ldl")
    assert subprocess.run([str(host), str(frozen)], check=False).returncode == 0
