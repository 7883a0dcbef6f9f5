# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The types that a user's checker sees are those of what is there at run time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from torch_tbk import DeviceModule

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "torch_tbk"

# What a user writes.
USER = """
from typing import Literal
from typing_extensions import assert_type

import torch
import torch_tbk
from torch_tbk import DeviceModule

def use(acme: DeviceModule) -> None:
    with acme.device(1), acme.stream(acme.Stream(priority=-1)), acme.fallback_mode("warn"):
        acme.synchronize("acme:1")
    assert_type(acme.device_count(), int)
    assert_type(acme.get_device_properties(0).total_memory, int)
    assert_type(acme.current_stream(), torch.Stream)
    assert_type(acme.Event(enable_timing=True), torch.Event)
    assert_type(acme.get_rng_state_all(), list[torch.Tensor])
    assert_type(acme.mem_get_info(), tuple[int, int])
    assert_type(acme.default_generators, tuple[torch.Generator, ...])
    assert_type([row.operator for row in acme.fallbacks()], list[str])
    assert_type(acme.capabilities()["events"].source, Literal["native", "bridge", "none"])
    assert_type(acme.get_amp_supported_dtype(), list[torch.dtype])

assert_type(torch_tbk.load(torch_tbk.reference("cpu"), options={"devices": 2}), DeviceModule)
"""
WRONG = {
    "acme.set_device()": "call-arg",
    "acme.manual_seed('seven')": "arg-type",
    "acme.set_fallback_mode('loud')": "arg-type",
    "acme.no_such_function()": "attr-defined",
    "acme.get_device_properties().name = 'x'": "misc",
}


def mypy(program: str, folder: Path, cache: Path) -> list[str]:
    file = folder / "user.py"
    file.write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    command += ["--config-file", "", "--cache-dir", str(cache), str(file)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=500, check=False
    )
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


@pytest.mark.night
def test_a_users_checker_knows_the_types_and_finds_what_is_wrong(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    pytest.importorskip("mypy")
    cache = pytestconfig.rootpath / ".mypy_cache" / "users"  # all of PyTorch is in it
    wrong = "\n".join(f"    {line}" for line in WRONG)
    lines = mypy(f"{USER}\ndef misuse(acme: DeviceModule) -> None:\n{wrong}\n", tmp_path, cache)
    errors = [line.rpartition("[")[2].rstrip("]") for line in lines if ": error:" in line]
    assert errors == list(WRONG.values()), "\n".join(lines)


def test_the_stub_of_the_compiled_part_has_what_the_compiled_part_has(
    backend: DeviceModule,
) -> None:
    """pybind11 functions have no signature to compare; their docstrings begin with one."""
    import ast  # noqa: PLC0415

    from torch_tbk._binding import binding  # noqa: PLC0415

    tree = ast.parse((PACKAGE / "_C.pyi").read_text(encoding="utf-8"))
    stub = {
        node.name: [argument.arg for argument in node.args.args]
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    there = {name: function for name, function in vars(binding).items() if callable(function)}
    assert stub.keys() == there.keys()
    for name, arguments in stub.items():
        signature = (there[name].__doc__ or "").partition("(")[2].partition(") ->")[0]
        names = [part.partition(":")[0].strip() for part in signature.split(", ") if part]
        assert [part for part in names if part.isidentifier()] == arguments, name


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()
