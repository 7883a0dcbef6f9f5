# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What is no backend gets one clear exception, and the next library can be loaded all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest


def built(name: str) -> str:
    """Returns a library that the build makes for tests alone."""
    checkout = Path(__file__).resolve().parents[3]
    path = Path(os.environ.get("TBK_BUILD", checkout / "build")) / "lib" / name
    assert path.is_file(), f"{path} is not built"
    return str(path)


class Bad(NamedTuple):
    """A library and options that can't be loaded, and what is said about it."""

    path: str
    options: str
    error: str
    says: str


def hostile(row: str, says: str) -> Bad:
    return Bad(built("hostile/libtbk_hostile.so"), f"hostile={row}", "ValueError", says)


def named(name: str, says: str) -> Bad:
    return Bad(built("bridge_tests/libnamed.so"), f"name={name}", "ValueError", says)


BAD: dict[str, Callable[[], Bad]] = {
    "missing": lambda: Bad("/nowhere/lib.so", "", "FileNotFoundError", "'/nowhere/lib.so'"),
    "folder": lambda: Bad("/", "", "ValueError", "is a directory"),
    "device": lambda: Bad("/dev/null", "", "ValueError", "not a regular file"),
    "text": lambda: Bad(__file__, "", "ValueError", "not a library that can be loaded"),
    "empty": lambda: Bad(built("hostile/libtbk_hostile_empty.so"), "", "ValueError", "library"),
    "no symbol": lambda: Bad(
        built("hostile/libtbk_hostile_no_symbol.so"), "", "ValueError", "tbk_backend_create"
    ),
    "refuses": lambda: hostile("refuses", "the licence server does not answer"),
    "no reason": lambda: hostile("refuses_badly", "refuses"),
    "unknown option": lambda: Bad(
        built("libtbk_template.so"), "colour=red", "ValueError", "no option is known"
    ),
    "wrong version": lambda: hostile("wrong_version", "ABI version 4711"),
    "short table": lambda: hostile("size_short", "cut short"),
    "empty table": lambda: hostile("size_zero", "cut short"),
    "short core": lambda: hostile("core_short", "of the core table is missing"),
    "no core": lambda: hostile("null_core", "no core functions"),
    "missing function": lambda: hostile("null_entry", "download"),
    "no name": lambda: hostile("null_name", "name is NULL"),
    "markup": lambda: hostile("markup", "the backend's name"),
    "endless name": lambda: hostile("long_names", "the backend's name"),
    "reserved": lambda: named("cuda", "a device of its own"),
    "reserved, accepted by PyTorch": lambda: named("meta", "a device of its own"),
    "not parsed": lambda: named("acme2", "small letters"),
    "in use": lambda: named("nn", "torch.nn exists already"),
    "a method": lambda: named("backward", "backward exists already"),
}

TRY_ALL = """
import json, sys
import torch, torch_tbk
told = {}
for title, (path, options, *_) in json.load(sys.stdin).items():
    try:
        torch_tbk.load(path, options=options)
    except Exception as error:
        told[title] = [type(error).__name__, str(error)]
    slot, accelerator = torch._C._get_privateuse1_backend_name(), torch._C._get_accelerator()
    assert (slot, accelerator.type) == ("privateuseone", "cpu"), (title, slot, accelerator)
module = torch_tbk.load(sys.argv[1], options=sys.argv[2])
told["the good one"] = ["", str(torch.ones(3, device=module.backend_name).tolist())]
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(library: Path, backend_options: str) -> dict[str, list[str]]:
    """All of them in one process, and a good one at the end."""
    done = subprocess.run(
        [sys.executable, "-c", TRY_ALL, str(library), backend_options],
        input=json.dumps({title: make() for title, make in BAD.items()}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results: dict[str, list[str]] = json.loads(done.stdout)
    return results


@pytest.mark.parametrize("title", BAD)
def test_what_is_no_backend_is_one_clear_error(told: dict[str, list[str]], title: str) -> None:
    bad = BAD[title]()
    error, message = told[title]
    assert error == bad.error, message
    assert bad.says in message
    assert "\n" not in message
    assert message.isprintable()
    assert len(message) < 600


def test_after_all_of_them_a_good_one_works(told: dict[str, list[str]]) -> None:
    assert told["the good one"] == ["", "[1.0, 1.0, 1.0]"]


Child = Callable[..., str]

LOAD = """
import json, sys
import torch, torch_tbk
module = torch_tbk.load(sys.argv[1], options=sys.argv[2])
name = module.backend_name
def tell(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__ + ": " + str(error)
    return "it worked"
"""


def test_a_second_backend_is_refused(child: Child, library: Path, backend_options: str) -> None:
    program = """
print(json.dumps([
    tell(lambda: torch_tbk.load(sys.argv[3])),
    tell(lambda: torch_tbk.load(sys.argv[1], options="another=1")),
    torch_tbk.load(sys.argv[1], options=sys.argv[2]) is module,
    torch.ones(3, device=name).sum().item(),
]))
"""
    second = built("bridge_tests/libnamed.so")
    other, options, same, works = json.loads(
        child(LOAD + program, library, backend_options, second)
    )
    for message in (other, options):
        assert message.startswith("RuntimeError: ")
        assert "is loaded already" in message
        assert "room for one" in message
    assert (same, works) == (True, 3)


def test_another_makers_device_keeps_its_slot(child: Child, library: Path) -> None:
    program = """
import sys, torch, torch_tbk
torch.utils.rename_privateuse1_backend("npu")
try:
    torch_tbk.load(sys.argv[1])
except RuntimeError as error:
    print(error)
print("torch_tbk._C" in sys.modules)
"""
    message, registered = child(program, library).splitlines()
    assert "'npu' of another package is in use" in message
    assert registered == "False", "the compiled part would have registered itself"


def test_without_a_device_torch_works_and_allocation_refuses(child: Child) -> None:
    program = """
layer = torch.nn.Linear(2, 2)
layer(torch.ones(1, 2)).sum().backward()
torch.manual_seed(1), module.manual_seed(1), module.seed(), module.seed_all(), torch.seed()
module.empty_cache(), module.empty_host_cache()
print(json.dumps([
    [module.is_available(), module.device_count(), module.is_initialized()],
    [torch.accelerator.is_available(), torch.accelerator.device_count()],
    str(torch.accelerator.current_accelerator()),
    torch.accelerator.current_accelerator(check_available=True),
    [module.get_rng_state_all(), list(module.default_generators), module.fallbacks()],
    [tell(use) for use in (
        lambda: torch.empty(1, device=name),
        lambda: torch.ones(1).to(name),
        lambda: layer.to(name),
        lambda: torch.Stream(name),
        lambda: torch.UntypedStorage(1, device=name),
        module.init,
        module.get_device_properties,
        module.current_stream,
        module.memory_allocated,
        module.initial_seed,
        module.synchronize,
    )],
]))
"""
    library = built("bridge_tests/libnamed.so")
    own, accelerator, current, checked, empty, told = json.loads(
        child(LOAD + program, library, "devices=0")
    )
    assert own == [False, 0, False]
    assert accelerator == [False, 0]
    assert (current, checked) == ("named", None)
    assert empty == [[], [], []]
    for message in told:
        assert message.startswith("RuntimeError: ")
        assert "named has 0 devices" in message


def test_a_count_that_will_not_do_is_told_where_a_device_is_wanted(child: Child) -> None:
    program = """
import warnings
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    counts = [module.device_count(), torch.accelerator.device_count()]
print(json.dumps([counts, [str(one.message) for one in warned],
                  tell(lambda: torch.ones(1, device=name)), tell(module.init)]))
"""
    hostile = built("hostile/libtbk_hostile.so")
    counts, _, *told = json.loads(child(LOAD + program, hostile, "hostile=minus_devices"))
    assert counts == [0, 0]
    for message in told:
        assert message.startswith("RuntimeError: ")
        assert "0 devices: device_count gives -" in message


def test_a_checkpoint_of_a_device_that_is_not_there_says_so(child: Child, tmp_path: Path) -> None:
    library, file = built("bridge_tests/libnamed.so"), tmp_path / "checkpoint.pt"
    child(LOAD + "torch.save(torch.ones(2, device=name + ':1'), sys.argv[3])", library, "", file)
    program = """
print(tell(lambda: torch.load(sys.argv[3])))
print(torch.load(sys.argv[3], map_location="cpu").tolist())
"""
    message, values = child(LOAD + program, library, "devices=1", file).splitlines()
    assert message.startswith("RuntimeError: ")
    assert "map_location" in message
    assert values == "[1.0, 1.0]"
