# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What loading does, and what it leaves for later; in a new process each, which has no backend."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch_tbk

Child = Callable[..., str]

LOAD = """
import json, os, sys, threading
import torch, torch_tbk
module = torch_tbk.load(sys.argv[1], options=sys.argv[2])
name = module.backend_name
opened = lambda: [torch_tbk._binding.binding.is_open(i) for i in range(module.device_count())]
"""


def test_importing_the_package_imports_no_pytorch(child: Child) -> None:
    assert child("import sys, torch_tbk; print('torch' in sys.modules)") == "False\n"


def test_nothing_opens_a_device_but_its_first_use(
    child: Child, library: Path, backend_options: str
) -> None:
    program = """
torch.manual_seed(3)
module.manual_seed_all(3)
state = module.get_rng_state()
module.set_rng_state(state)
torch.Generator(name).get_state()
module.is_available(), module.device_count(), module.current_device(), module.is_initialized()
module.set_device(module.device_count() - 1), module.set_device(0)
module.get_device_properties(), module.get_device_name(), module.get_device_capability()
module.current_stream(), module.default_stream(), module.Event()
module.memory_stats(), module.memory_allocated(), module.memory_reserved()
module.reset_peak_memory_stats(), module.reset_accumulated_memory_stats()
module.empty_cache(), module.empty_host_cache(), module.host_memory_stats()
module.set_memory_limit(1 << 40), module.set_memory_limit(None)
module.synchronize(), torch.accelerator.synchronize()
module.fallbacks(), module.get_fallback_mode()
with module.device(0), torch.device(name):
    pass
with torch.random.fork_rng(devices=[0], device_type=name):
    pass
before = opened()
initialized = module.is_initialized()
torch.ones(1, device=name)
print(json.dumps([before, opened(), initialized, module.is_initialized()]))
"""
    before, after, was, now = json.loads(child(LOAD + program, library, backend_options))
    assert not any(before)
    assert after == [True] + [False] * (len(before) - 1), "another device was opened, too"
    assert (was, now) == (False, True)


def test_neither_loading_nor_seeding_counts_devices(
    child: Child, library: Path, backend_options: str
) -> None:
    program = """
counted = torch_tbk._binding.binding.is_counted
torch.manual_seed(5), torch.seed(), torch.manual_seed(7)
seen = [counted(), module.is_initialized(), counted()]
early = [generator.initial_seed() for generator in module.default_generators]
module.manual_seed_all(-1)
late = [generator.initial_seed() for generator in module.default_generators]
print(json.dumps([seen, counted(), early, late]))
"""
    seen, counted, early, late = json.loads(child(LOAD + program, library, backend_options))
    assert (seen, counted) == ([False, False, False], True)
    assert set(early) == {7}
    assert set(late) == {2**64 - 1}


def test_init_opens_the_current_device_alone(
    child: Child, library: Path, backend_options: str
) -> None:
    program = """
module.set_device(module.device_count() - 1)
module.init()
print(json.dumps(opened()))
"""
    opened = json.loads(child(LOAD + program, library, backend_options))
    assert opened == [False] * (len(opened) - 1) + [True]


def test_a_call_kept_for_the_first_use_runs_once_before_it(
    child: Child, library: Path, backend_options: str
) -> None:
    program = """
calls = []
module._lazy_call(lambda: calls.append(opened()[0]))
early = list(calls)
torch.ones(1, device=name)
torch.ones(1, device=name)
module._lazy_call(lambda: calls.append("now"))
print(json.dumps([early, calls]))
"""
    assert json.loads(child(LOAD + program, library, backend_options)) == [[], [False, "now"]]


def test_the_same_library_gives_the_same_module_in_every_thread(
    child: Child, library: Path, backend_options: str
) -> None:
    program = """
import importlib
found = []
def again():
    found.append(torch_tbk.load(os.path.relpath(sys.argv[1]), options=sys.argv[2]))
threads = [threading.Thread(target=again) for _ in range(4)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
found += [getattr(torch, name), sys.modules["torch." + name], torch.get_device_module(name)]
found.append(importlib.import_module("torch." + name))
print(all(module is other for other in found), len(found))
"""
    assert child(LOAD + program, library, backend_options) == "True 8\n"


def test_a_process_may_fork_until_the_first_use(
    child: Child, library: Path, backend_options: str
) -> None:
    program = """
torch.manual_seed(1), module.is_available(), module.get_rng_state()
if (pid := os.fork()) == 0:
    right = torch.ones(3, device=name).sum().item() == 3 and not module._is_in_bad_fork()
    os._exit(0 if right else 1)
status = os.waitpid(pid, 0)[1]
print(status, torch.ones(3, device=name).sum().item())
"""
    assert child(LOAD + program, library, backend_options) == "0 3.0\n"


def test_a_child_forked_after_the_first_use_is_told_so(
    child: Child, library: Path, backend_options: str
) -> None:
    program = """
torch.ones(3, device=name)
reader, writer = os.pipe()
if (pid := os.fork()) == 0:
    told = []
    for use in (
        lambda: torch.ones(3, device=name),
        lambda: torch.ones(3).to(name),
        module.init,
        lambda: torch.Stream(name),
    ):
        try:
            use()
            told.append("it worked")
        except RuntimeError as error:
            told.append(str(error))
    torch.manual_seed(1)
    told += [module._is_in_bad_fork(), module.is_initialized(), torch.ones(3).sum().item()]
    os.write(writer, json.dumps(told).encode())
    os._exit(0)
os.waitpid(pid, 0)
print(os.read(reader, 65536).decode())
"""
    *uses, bad_fork, initialized, on_cpu = json.loads(
        child(LOAD + program, library, backend_options)
    )
    for told in uses:
        assert "fork" in told
        assert "spawn" in told
    assert (bad_fork, initialized, on_cpu) == (True, False, 3.0)


def test_a_process_may_end_right_after_a_backward_pass(
    child: Child, library: Path, backend_options: str
) -> None:
    program = """
x = torch.ones(3, device=name, requires_grad=True)
loss = (x * 2).sum()
sys.setswitchinterval(100)  # autograd's thread gets the GIL when this one is done with it
loss.backward()
"""
    assert not child(LOAD + program, library, backend_options)


def test_options_are_a_string_or_a_mapping() -> None:
    from torch_tbk._load import _option_string  # noqa: PLC0415

    assert _option_string(None) == ""
    assert _option_string("devices=4,memory=64M") == "devices=4,memory=64M"
    assert _option_string({"devices": 4, "memory": "64M"}) == "devices=4,memory=64M"
    with pytest.raises(ValueError, match="no ','"):
        _option_string({"devices": "4,5"})


def test_reference_backends_are_found_by_name() -> None:
    assert torch_tbk.reference("cpu").name == "libtbk_cpu.so"
    assert torch_tbk.reference("template").is_file()
    with pytest.raises(ValueError, match=r"'nonsense'; there are: .*cpu"):
        torch_tbk.reference("nonsense")
