# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The argument structs of every overload of ATen, and what is said of a name that is none."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))

from generate_operators import SchemaError, parse_schema  # noqa: E402
from generate_overloads import render, struct  # noqa: E402
from overloads import Overload, find, load_list, read_list, unknown  # noqa: E402

KNOWN = load_list()
# What makes a tensor of nothing but sizes and numbers.
FACTORIES = (
    "arange.start_step", "bartlett_window", "blackman_window", "empty.memory_format",
    "empty_strided", "eye", "eye.m", "fft_fftfreq", "full", "full_like", "hamming_window",
    "hann_window",
    "kaiser_window", "linspace", "logspace", "normal.float_float", "ones", "ones_like", "rand",
    "rand_like", "randint", "randint.low", "randn", "randn_like", "randperm", "scalar_tensor",
    "tril_indices", "triu_indices", "zeros", "zeros_like",
)  # fmt: skip


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("add", "add means several overloads; write add.Scalar or add.Tensor"),
        ("add.Tenser", "add.Tenser is no overload of add; write add.Scalar or add.Tensor"),
        ("nonsense", "PyTorch has no nonsense"),
        ("sofmax", "PyTorch has no sofmax; write "),
        ("relu_", "relu_ writes into an operand: the host calls relu for it; write that"),
        ("add.Tensor(Tensor self) -> Tensor",
         "add.Tensor has another schema in this PyTorch; write add.Tensor(Tensor self, Tensor"),
    ],
)  # fmt: skip
def test_what_to_write_is_told_in_a_line(word: str, said: str) -> None:
    with pytest.raises(SchemaError) as raised:
        find(word, KNOWN)
    assert str(raised.value).startswith(said)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("word", ["nosuch", "frobnicate", "zzz"])
def test_what_resembles_nothing_is_given_nothing_to_write(word: str) -> None:
    assert unknown(word, KNOWN) == f"PyTorch has no {word}"


@pytest.mark.parametrize("name", FACTORIES)
def test_a_factory_has_a_struct(name: str) -> None:
    assert struct(find(name, KNOWN)).startswith(f"/* {name}(")


def test_a_name_is_found_with_and_without_its_namespace() -> None:
    assert find("aten::add.Tensor", KNOWN) == find("add.Tensor", KNOWN)


def test_no_two_overloads_have_one_identifier() -> None:
    identifiers = [parse_schema(one.schema).identifier for one in KNOWN.values()]
    assert len(set(identifiers)) == len(identifiers) > 1700


@pytest.mark.parametrize("line", ["x neg(Tensor self) -> Tensor", "1 neg", "1 f() -> Tensor"])
def test_a_bad_list_is_told(line: str) -> None:
    with pytest.raises(SchemaError, match=r"overloads\.txt:2"):
        read_list(f"1 f() -> Tensor\n{line}\n")


def test_the_version_stands_in_the_header() -> None:
    made = struct(Overload("neg", "neg(Tensor self) -> Tensor", 3))
    assert "#define TBK_VERSION_neg 3u" in made
    assert "  const tbk_tensor_t* out; /* output */" in made


def test_two_overloads_of_one_identifier_are_refused(tmp_path: Path) -> None:
    (tmp_path / "spec" / "operators").mkdir(parents=True)
    (tmp_path / "spec" / "operators.yml").write_text("operators: []\n")
    (tmp_path / "spec" / "operators" / "overloads.txt").write_text(
        "1 a_b(Tensor x) -> Tensor\n1 a.b(Tensor x) -> Tensor\n"
    )
    with pytest.raises(SchemaError, match="means two overloads"):
        render(tmp_path)


def test_an_operator_by_hand_has_the_schema_of_pytorch(tmp_path: Path) -> None:
    (tmp_path / "spec" / "operators").mkdir(parents=True)
    (tmp_path / "spec" / "operators.yml").write_text(
        "operators: [{schema: 'neg(Tensor other) -> Tensor', version: 1}]\n"
    )
    (tmp_path / "spec" / "operators" / "overloads.txt").write_text("1 neg(Tensor self) -> Tensor\n")
    with pytest.raises(SchemaError, match=r"write neg\(Tensor self"):
        render(tmp_path)


@pytest.mark.parametrize("language", ["c99", "c11", "c++17"])
def test_every_struct_compiles_and_has_no_padding(language: str, tmp_path: Path) -> None:
    compiler = shutil.which("g++" if "++" in language else "gcc")
    assert compiler, "there is no compiler"
    names = [parse_schema(one.schema).identifier for one in KNOWN.values()]
    members = {
        parse_schema(one.schema).identifier: parse_schema(one.schema).members[-1]
        for one in KNOWN.values() if parse_schema(one.schema).members
    }  # fmt: skip
    lines = ["#include <stddef.h>", "#include <tbk/tbk_aten.h>"]
    for name in names:
        if name in members:
            last = f"(({members[name].c_type}*)0)"
            lines.append(
                f"typedef char check_{name}[offsetof(tbk_args_{name}_t, {members[name].name}) + "
                f"sizeof(*{last}) == sizeof(tbk_args_{name}_t) ? 1 : -1];"
            )
    source = tmp_path / "all.c"
    source.write_text("\n".join(lines) + "\n")
    assert ctypes.sizeof(ctypes.c_void_p) == 8
    said = subprocess.run(
        [compiler, f"-std={language}", "-pedantic", "-Wall", "-Wextra", "-Werror", "-x",
         "c++" if "++" in language else "c", "-I", str(TOOLS.parent / "include"), "-fsyntax-only",
         str(source)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr[:2000]
