# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Each way to leave a frozen version is found and named, and what may change is not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from check_compat import (
    COMPAT,
    compare,
    digest,
    find_faults,
    overload_faults,
    struct_faults,
)
from declarations import DeclarationError, Declarations, Member, load

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "contracts" / "tools" / "check_compat.py"
FROZEN = ROOT / COMPAT / "1rc"
HEADERS = [f"tbk/{path.name}" for path in sorted((FROZEN / "include" / "tbk").glob("*.h"))]
BEFORE_FREE = "  /**\n   * Give `memory` back."

# (header, what stands there, what is put there instead, what the checker says first)
BREAKS = {
    "two members change places": (
        "types.h", "  uint64_t seed;\n  uint64_t offset;", "  uint64_t offset;\n  uint64_t seed;",
        "tbk_generator.seed has moved from place 0 to 1"),
    "a member in the middle": (
        "backend.h", "  const tbk_event_ops_t* event; ",
        "  const void* graph;\n  const tbk_event_ops_t* event; ",
        "tbk_backend.event has moved from"),
    "a function in the middle": (
        "core.h", BEFORE_FREE, f"  void (*memory_trim)(tbk_instance_t* self);\n\n{BEFORE_FREE}",
        "tbk_core.memory_free has moved from place 7 to 8"),
    "a member in what is handed over whole": (
        "tbk_arguments.h", "  double imaginary;\n", "  double imaginary;\n  int64_t bits;\n",
        "tbk_scalar.bits is new, in a struct that does not say its size"),
    "a member is gone": (
        "tbk_program.h", "  uint64_t inner_rank; ", "  uint64_t inner; ",
        "tbk_operand_set.inner_rank is gone"),
    "a member of another type": (
        "device.h", "  int32_t max_rank; ", "  uint32_t max_rank; ",
        "tbk_device_properties.max_rank is `uint32_t`, and was `int32_t`"),
    "a longer array": ("types.h", "message[256]", "message[512]", "tbk_error.message is"),
    "a function is gone": (
        "random.h", "(*random_bits)", "(*random_words)", "tbk_random_ops.random_bits is gone"),
    "a function with another argument": (
        "callback.h", "tbk_callback_fn function, void*", "tbk_callback_fn function, const void*",
        "tbk_callback_ops.callback_enqueue is"),
    "a function that returns something else": (
        "pinned.h", "void (*pinned_free)", "int32_t (*pinned_free)",
        "tbk_pinned_ops.pinned_free is"),
    "the exported symbol": (
        "backend.h", "TBK_EXPORT tbk_status_t tbk_backend_create(const tbk_host_t* host,",
        "TBK_EXPORT tbk_status_t tbk_backend_create(tbk_host_t* host,", "tbk_backend_create is"),
    "a typedef": (
        "types.h", "typedef int32_t tbk_status_t;", "typedef int64_t tbk_status_t;",
        "tbk_status_t is `int64_t`, and was `int32_t`"),
    "another value": (
        "backend.h", "TBK_LOG_WARNING = 2", "TBK_LOG_WARNING = 4",
        "TBK_LOG_WARNING is 4, and was 2"),
    "a value in the middle moves those behind": (
        "tbk_arguments.h", "TBK_SCALAR_DOUBLE = 1,", "TBK_SCALAR_HALF, TBK_SCALAR_DOUBLE,",
        "TBK_SCALAR_DOUBLE is 2, and was 1"),
    "an enumerator is gone": (
        "device.h", "TBK_DEVICE_PHILOX = 1 << 4", "TBK_DEVICE_RANDOM = 1 << 4",
        "TBK_DEVICE_PHILOX is gone"),
    "a value of an X macro": (
        "types.h", "X(BFLOAT16, 15, 2)", "X(BFLOAT16, 14, 2)", "TBK_BFLOAT16 is 14, and was 15"),
    "a status that no host knows": (
        "types.h", '"the device is lost to this process until it ends")',
        '"the device is lost to this process until it ends") X(AGAIN, 9, "once more")',
        "TBK_STATUS_COUNT is 10, and was 9"),
    "a flag that no older host knows": (
        "device.h", "TBK_DEVICE_FLAGS_KNOWN = (1 << 6) - 1",
        "TBK_DEVICE_TILED = 1 << 6,\n  TBK_DEVICE_FLAGS_KNOWN = (1 << 7) - 1",
        "TBK_DEVICE_FLAGS_KNOWN is 127, and was 63"),
    "a mode that no older library knows": (
        "tbk_index.h", "TBK_INDEX_FLAT = ", "TBK_INDEX_WRAP = 8,\n  TBK_INDEX_FLAT = ",
        "TBK_INDEX_WRAP is new beside TBK_INDEX_NEGATIVE"),
    "an opcode that no older library knows": (
        "tbk_opcodes.h", "  X(SQRT, 52,",
        '  X(CBRT, 76, 1, F, SAME, 4, "the third root") \\\n  X(SQRT, 52,',
        "TBK_OPCODE_CBRT is new beside TBK_OPCODE_CONSTANT"),
    "the meaning of an opcode": (
        "tbk_opcodes.h", '"NaN below zero; -0 of -0"'[1:-1], "NaN below zero",
        "TBK_OPCODE_MAP has no longer the row `SQRT"),
    "the version of programs": (
        "tbk_program.h", "TBK_PROGRAM_VERSION 1u", "TBK_PROGRAM_VERSION 2u",
        "TBK_PROGRAM_VERSION is `2u`, and was `1u`"),
    "the version of an argument struct": (
        "tbk_operators.h", "TBK_VERSION_mm 1u", "TBK_VERSION_mm 2u", "TBK_VERSION_mm is"),
    "the version of the interface": (
        "types.h", "TBK_ABI_VERSION 0", "TBK_ABI_VERSION 1", "TBK_ABI_VERSION is `1`, and was `0`"),
    "a macro that takes arguments": (
        "types.h", "&& (object)->member)", ")", "TBK_HAS is"),
    "a sentence": (
        "core.h", "its bytes can be allocated again.  ", "its bytes can be allocated later.  ",
        'memory_free: MEM-012 says "its bytes can be allocated later."'),
    "a sentence less": (
        "core.h", "   * Ensures:   0 is accepted and does nothing. "
        "                                       [MEM-014]\n", "",
        "memory_free: MEM-014 is not stated"),
    "an entry that could be NULL": (
        "core.h", "to the byte `value`. May be NULL.", "to the byte `value`.",
        "fill must be there, and had not to be there"),
    "an entry that could not be NULL": (
        "stream.h", "Destroy `stream`; NULL does nothing.", "Destroy `stream`. May be NULL.",
        "stream_destroy may be NULL, and had to be there"),
    "a header is gone": ("random.h", None, None, "<tbk/random.h> is gone"),
}  # fmt: skip
NEW_TABLE = """\
typedef struct tbk_graph_ops {
  size_t struct_size;
  tbk_status_t (*graph_capture)(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error);
} tbk_graph_ops_t;

/* What the backend offers."""
NEW_FUNCTION = """\

  /**
   * Forget what is cached. May be NULL.
   * Requires:  none.
   * Since:     2
   */
  void (*memory_trim)(tbk_instance_t* self);
} tbk_core_t;"""
CHANGES = {
    "a comment": ("kernel.h", "kernel.h: operators; optional.", "kernel.h: optional: operators."),
    "the name of a parameter": ("pinned.h", "void* pointer);", "void* pinned);"),
    "a table behind the last": (
        "backend.h", "  const tbk_fault_ops_t* fault; /* needs stream */\n",
        "  const tbk_fault_ops_t* fault; /* needs stream */\n  const tbk_graph_ops_t* graph;\n"),
    "the type of a table": ("backend.h", "/* What the backend offers.", NEW_TABLE),
    "an optional function behind the last": ("core.h", "} tbk_core_t;", NEW_FUNCTION),
    "a member behind the last": (
        "backend.h", "may be NULL */\n} tbk_host_t;",
        "may be NULL */\n  uint64_t threads;\n} tbk_host_t;"),
    "a dtype": ("types.h", "  X(BFLOAT16, 15, 2)", "  X(BFLOAT16, 15, 2) X(UINT16, 27, 2)"),
    "an operator": ("tbk_operators.h", "  X(mm)\n", "  X(mm) X(bmm)\n"),
    "an enum of its own": (
        "random.h", "typedef struct tbk_random_ops {",
        "enum { TBK_RANDOM_FAST = 1 };\n\ntypedef struct tbk_random_ops {"),
    "a constant": (
        "types.h", '#define TBK_ENTRY_SYMBOL', '#define TBK_MORE 1\n#define TBK_ENTRY_SYMBOL'),
}  # fmt: skip


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """A folder with the frozen headers, to be changed."""
    shutil.copytree(FROZEN / "include", tmp_path / "include")
    return tmp_path


def change(live: Path, header: str, old: str, new: str) -> None:
    path = live / "include" / "tbk" / header
    text = path.read_text()
    assert text.count(old) == 1, f"{header} has {text.count(old)} times {old}"
    path.write_text(text.replace(old, new))


def test_what_has_not_changed_has_no_fault(live: Path) -> None:
    assert list(compare(FROZEN, live)) == []


def test_this_checkout_has_not_left_a_frozen_version() -> None:
    done = subprocess.run([sys.executable, str(TOOL)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1rc frozen; no departures" in done.stdout


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_named_in_one_line(live: Path, name: str) -> None:
    header, old, new, said = BREAKS[name]
    if old is None or new is None:
        (live / "include" / "tbk" / header).unlink()
    else:
        change(live, header, old, new)
    faults = list(compare(FROZEN, live))
    assert said in faults[0]
    assert all("\n" not in one for one in faults)
    assert (
        len(faults) <= 3
    )  # a value of an X macro is its row, too; a struct moves what is behind it


@pytest.mark.parametrize("name", CHANGES)
def test_what_may_change_has_no_fault(live: Path, name: str) -> None:
    change(live, *CHANGES[name])
    if name == "a table behind the last":
        change(live, *CHANGES["the type of a table"])
    assert list(compare(FROZEN, live)) == []


def test_a_function_that_old_libraries_lack_may_be_null(live: Path) -> None:
    change(live, "core.h", "} tbk_core_t;", NEW_FUNCTION.replace(" May be NULL.", ""))
    assert list(compare(FROZEN, live)) == ["tbk_core.memory_trim is new and may not be NULL"]


def test_a_new_member_lies_behind_all_that_was_there() -> None:
    size, flag = Member("struct_size", "size_t"), Member("flag", "int32_t")
    old = Declarations(
        structs={"s": (size, flag)}, numbers={"s": 16, "s.struct_size": 0, "s.flag": 8}
    )
    new = Declarations(
        structs={"s": (size, flag, Member("more", "int32_t"))},
        numbers={"s": 16, "s.struct_size": 0, "s.flag": 8, "s.more": 12},
    )
    assert list(struct_faults(old, new)) == ["s.more is new, and lies within what was there before"]


def test_what_is_no_header_is_told_in_a_line(live: Path) -> None:
    change(live, "fault.h", "} tbk_fault_ops_t;", "} tbk_fault_ops_t")
    with pytest.raises(DeclarationError) as told:
        load(live / "include", HEADERS)
    assert len(str(told.value).splitlines()) == 1


def test_arguments_change_with_their_version(tmp_path: Path) -> None:
    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    old.write_text("1 neg(Tensor self) -> Tensor\n1 gone(Tensor self) -> Tensor\n")
    new.write_text("2 neg(Tensor self, int dim) -> Tensor\n")
    assert list(overload_faults(old, new)) == []
    new.write_text("1 neg(Tensor self, int dim) -> Tensor\n")
    (fault,) = overload_faults(old, new)
    assert fault.startswith("neg has other arguments and still version 1")


# -------------------------------------------------------------------------------------- ledger --


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """As much of a checkout as the checker reads, with one decision."""
    shutil.copytree(FROZEN, tmp_path / COMPAT / "1rc")
    contracts = tmp_path / "contracts"
    shutil.copytree(FROZEN / "include", contracts / "include")
    operators = contracts / "spec" / "operators"
    operators.mkdir(parents=True)
    shutil.copy(FROZEN / "overloads.txt", operators)
    adr = tmp_path / "docs" / "adr"
    adr.mkdir(parents=True)
    (adr / "0152-frozen.md").write_text("1rc is frozen")
    return tmp_path


def faults(checkout: Path) -> list[str]:
    return list(find_faults(checkout, checkout / COMPAT / "1rc"))


def test_a_frozen_folder_changes_by_a_decision_alone(checkout: Path) -> None:
    folder = checkout / COMPAT / "1rc"
    assert faults(checkout) == []
    for name in ("include/tbk/core.h", "template/template.c", "overloads.txt"):
        path = folder / name
        before = path.read_text()
        path.write_text(before + "\n")
        (fault,) = faults(checkout)
        assert "1rc is not what ADR 152 froze" in fault
        path.write_text(before)
    (folder / "cpu" / "more.c").write_text("int x;\n")
    assert len(faults(checkout)) == 1


def test_a_thaw_is_a_line_with_its_decision(checkout: Path) -> None:
    folder = checkout / COMPAT / "1rc"
    ledger = folder / "frozen.yml"
    (folder / "cpu" / "cpu.c").write_text("int x;\n")
    line = f"- adr: 153\n  digest: {digest(folder)}\n"
    ledger.write_text(ledger.read_text() + line)
    (fault,) = faults(checkout)
    assert "no ADR 153 speaks of 1rc" in fault
    (checkout / "docs" / "adr" / "0153-thaw.md").write_text("1rc thaws")
    assert faults(checkout) == []
    ledger.write_text(ledger.read_text() + line)
    (fault,) = faults(checkout)
    assert "each decision stands once" in fault


def test_where_nothing_is_frozen_nothing_passes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(TOOL), "--root", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "nothing frozen" in done.stdout
