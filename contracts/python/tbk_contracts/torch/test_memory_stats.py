# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the allocator tells: statistics, the cache, memory information, the profiler."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from tbk_contracts.torch import check, host, order
from tbk_contracts.torch.case import clause
from tbk_contracts.torch.extremes import place
from tbk_contracts.torch.pairs import Case, each_case, line

MIB = 1 << 20
KINDS = ("current", "peak", "allocated", "freed")

stats = torch.accelerator.memory_stats


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Garbage of other tests is not freed while a test counts."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@contextmanager
def used(device: torch.device) -> Iterator[None]:
    """The device is in use and idle."""
    kept = host.upload(host.values((10,)), device)
    order.settle(device)
    yield
    del kept


def allocated(device: torch.device) -> int:
    return torch.accelerator.memory_allocated(device)


def check_sane(device: torch.device) -> None:
    seen = stats(device)
    low = {name: value for name, value in seen.items()
           if name.endswith(KINDS) and value < 0}  # fmt: skip
    check.that("statistics", not low, expected="nothing below 0", seen=low)
    currents = [name for name in seen if name.endswith(".current")]
    above = [name for name in currents if seen[name] > seen[name.replace(".current", ".peak")]]
    check.that("current values", not above, expected="none above its peak", seen=above)
    reserved, in_use = torch.accelerator.memory_reserved(device), allocated(device)
    check.that("memory_reserved()", reserved >= in_use,
               expected=f"at least memory_allocated(), {in_use}", seen=reserved)  # fmt: skip
    check.that("max_memory_reserved()", torch.accelerator.max_memory_reserved(device) >= reserved,
               expected=f"at least {reserved}", seen="less")  # fmt: skip


@clause("MEM-520", needs="memory_stats")
def test_what_tensors_use_is_counted(device: torch.device) -> None:
    with used(device):
        for size in (1, 511, 4096, 70_001, MIB, 3 * MIB + 1):
            before = allocated(device)
            tensor = torch.empty(size, dtype=torch.uint8, device=device)
            more = allocated(device) - before
            check.that("memory_allocated(), risen", more >= size, expected=f"by {size} at least",
                       seen=more)  # fmt: skip
            second = torch.empty(size, dtype=torch.uint8, device=device)
            more = allocated(device) - before
            check.that("memory_allocated(), risen again", more >= 2 * size,
                       expected=f"by {2 * size} at least", seen=more)  # fmt: skip
            del tensor
            del second
            check.equal("memory_allocated() after the free", allocated(device), before)


@clause("MEM-521", needs="memory_stats")
def test_statistics_agree_with_each_other(device: torch.device) -> None:
    with used(device):
        held = []
        for size in (1, 5000, MIB, 100, 4 * MIB, 3):
            held.append(torch.empty(size, dtype=torch.uint8, device=device))
            check_sane(device)
            if len(held) % 2 == 0:
                del held[0]
                check_sane(device)
        torch.accelerator.empty_cache()
        check_sane(device)
        held.clear()
        torch.accelerator.empty_cache()
        check_sane(device)
        torch.accelerator.reset_peak_memory_stats(device)
        check_sane(device)


@clause("MEM-521", needs="memory_stats")
def test_the_peak_is_the_most_that_was_in_use(device: torch.device) -> None:
    with used(device):
        torch.accelerator.reset_peak_memory_stats(device)
        before = allocated(device)
        for size in (MIB, 3 * MIB, 2 * MIB):
            torch.empty(size, dtype=torch.uint8, device=device)
        peak = torch.accelerator.max_memory_allocated(device) - before
        check.that("max_memory_allocated()", 3 * MIB <= peak < 5 * MIB,
                   expected="3 MiB above what was in use", seen=peak)  # fmt: skip
        check.equal("memory_allocated()", allocated(device), before)


@clause("MEM-522", needs="memory_stats")
def test_peaks_start_again(device: torch.device) -> None:
    with used(device):
        torch.empty(8 * MIB, dtype=torch.uint8, device=device)
        before = stats(device)
        torch.accelerator.reset_peak_memory_stats(device)
        seen = stats(device)
        for name, value in seen.items():
            if name.endswith(".peak"):
                check.equal("a peak", value, seen[name.replace(".peak", ".current")])
            else:
                check.equal("what is no peak", value, before[name])


@clause("MEM-522", needs="memory_stats")
def test_sums_start_again(device: torch.device) -> None:
    with used(device):
        torch.empty(8 * MIB, dtype=torch.uint8, device=device)
        before = stats(device)
        torch.accelerator.reset_accumulated_memory_stats(device)
        seen = stats(device)
        for name, value in seen.items():
            if name.endswith((".allocated", ".freed")):
                check.equal("a sum", value, 0)
            elif name.endswith((".current", ".peak")):
                check.equal("what is no sum", value, before[name])
        torch.empty(5 * MIB, dtype=torch.uint8, device=device)
        for name in ("allocated_bytes.all.allocated", "allocated_bytes.all.freed"):
            check.that("a sum after that", stats(device)[name] >= 5 * MIB,
                       expected="5 MiB at least", seen=stats(device)[name])  # fmt: skip


@clause("MEM-523", needs="memory_stats two_devices")
def test_devices_are_counted_apart(device: torch.device, other_device: torch.device) -> None:
    with used(device), used(other_device):
        before, others = stats(device), allocated(other_device)
        tensor = torch.empty(3 * MIB, dtype=torch.uint8, device=other_device)
        torch.accelerator.reset_accumulated_memory_stats(other_device)
        del tensor
        torch.accelerator.reset_peak_memory_stats(other_device)
        check.equal("statistics of a device that was not used", stats(device), before)
        tensor = torch.empty(3 * MIB, dtype=torch.uint8, device=other_device)
        more = allocated(other_device) - others
        check.that("memory_allocated() of the other one, risen", more >= tensor.nbytes,
                   expected=tensor.nbytes, seen=more)  # fmt: skip


@each_case({"reset": ("peak", "accumulated"), "of": ("first", "second"),
            "current": ("first", "second"),
            "named": ("index", "device", "current"), "kept": ("yes", "no"),
            "times": ("1", "3")},
           lambda case: case.get("named") != "current" or case.get("of") == case.get("current"),
           quick=8)  # fmt: skip
@clause("MEM-523", needs="memory_stats two_devices")
def test_a_reset_is_of_one_device(devices: list[torch.device], case: Case) -> None:
    """What the other device has counted, its peak and its sums, stays."""
    place_of = {"first": 0, "second": 1}
    of, other = devices[place_of[case["of"]]], devices[1 - place_of[case["of"]]]
    with used(of), used(other):
        kept = [torch.empty(3 * MIB, dtype=torch.uint8, device=each) for each in (of, other)]
        for each in (of, other):
            torch.empty(8 * MIB, dtype=torch.uint8, device=each)  # freed at once: a peak
        if case["kept"] == "no":
            kept.clear()
        before = stats(other)
        with torch.accelerator.device_index(place_of[case["current"]]):
            for _ in range(int(case["times"])):
                named = {"index": (of.index,), "device": (of,), "current": ()}[case["named"]]
                getattr(torch.accelerator, f"reset_{case['reset']}_memory_stats")(*named)
        check.equal(f"statistics of the other device, {line(case)}", stats(other), before)
        name = "allocated_bytes.all." + ("peak" if case["reset"] == "peak" else "allocated")
        least = 0 if case["reset"] == "accumulated" else allocated(of)
        check.equal(f"{name}, {line(case)}", stats(of)[name], least)


@clause("MEM-524", needs="memory_stats")
def test_a_device_out_of_range_is_refused(devices: list[torch.device]) -> None:
    with used(devices[0]):
        count = len(devices)
        calls: tuple[Any, ...] = (
            torch.accelerator.memory_stats, torch.accelerator.memory_allocated,
            torch.accelerator.max_memory_reserved, torch.accelerator.reset_peak_memory_stats,
            torch.accelerator.reset_accumulated_memory_stats, torch.accelerator.get_memory_info,
        )  # fmt: skip
        for call in calls:
            for index in (count, count + 5):
                check.raises(call.__name__, Exception, partial(call, index))
        check.equal("memory_allocated() of the last device is a number",
                    isinstance(allocated(devices[-1]), int), True)  # fmt: skip


@clause("MEM-525", needs="memory_stats")
def test_free_and_total_memory(devices: list[torch.device]) -> None:
    for device in devices:
        try:
            free, total = torch.accelerator.get_memory_info(device)
        except NotImplementedError as error:
            check.that("what it says", bool(str(error)), expected="a reason", seen="nothing")
            continue
        check.that("get_memory_info()", 0 <= free <= total > 0, expected="0 <= free <= total",
                   seen=(free, total))  # fmt: skip
        held = host.upload(host.values((MIB,)), device)
        after = torch.accelerator.get_memory_info(device)
        check.equal("total, later", after[1], total)
        in_use = torch.accelerator.memory_allocated(device)
        check.that("total", total >= in_use >= held.nbytes, expected=f"at least {in_use}",
                   seen=total)  # fmt: skip


SHARES = {"an eighth": 1 / 8, "half": 1 / 2, "five eighths": 5 / 8, "seven eighths": 7 / 8}
MOST_PARTS = 64


@each_case({"share": tuple(SHARES), "parts": ("few", "many"), "device": ("first", "second")},
           needs=lambda case: "two_devices" if case["device"] == "second" else "",
           quick=4)  # fmt: skip
@clause("MEM-525", needs="oom memory_info", alone=True)
def test_free_memory_as_it_fills(device: torch.device, case: Case) -> None:
    """Bytes that are taken, without being written, up to a share of what is free."""
    device = place(case, device)
    order.settle(device)
    torch.accelerator.empty_cache()
    before, total = torch.accelerator.get_memory_info(device)
    share, parts = SHARES[case["share"]], 8 if case["parts"] == "few" else MOST_PARTS
    held: list[torch.Tensor] = []
    for _ in range(round(share * parts)):
        try:
            held.append(torch.empty(before // parts, dtype=torch.uint8, device=device))
        except torch.OutOfMemoryError:  # free is not what one may have
            break
        free, later = torch.accelerator.get_memory_info(device)
        check.that(f"get_memory_info(), {line(case)}", 0 <= free <= later == total,
                   expected=f"0 <= free <= {total}", seen=(free, later))  # fmt: skip
    check.that(f"free memory at the end, {line(case)}",
               torch.accelerator.get_memory_info(device)[0] <= total,
               expected=f"at most {total}", seen="more")  # fmt: skip


@clause("MEM-526", needs="memory_stats")
def test_pytorch_finds_the_allocator(device: torch.device) -> None:
    with used(device):
        initialised = torch._C._accelerator_isAllocatorInitialized()
        check.equal("whether the allocator is initialised", initialised, True)
        for name in ("allocated_bytes", "reserved_bytes"):
            check.that(f"memory_stats(): {name}", f"{name}.all.current" in stats(device),
                       expected="given", seen="missing")  # fmt: skip
        torch.accelerator.empty_cache()
        check.that("memory_allocated()", allocated(device) >= 40, expected="40 at least",
                   seen=allocated(device))  # fmt: skip


@clause("MEM-518", needs="memory_stats")
def test_unused_memory_is_given_back(device: torch.device) -> None:
    with used(device):
        sent = host.values((1000,))
        held = [host.upload(sent, device) for _ in range(3)]
        torch.accelerator.empty_cache()
        before = torch.accelerator.memory_reserved(device)
        big = torch.empty(32 * MIB, dtype=torch.uint8, device=device)
        took = torch.accelerator.memory_reserved(device) - before
        torch.accelerator.empty_cache()
        while_used = torch.accelerator.memory_reserved(device)
        check.that("memory_reserved(), all in use", while_used >= allocated(device),
                   expected=f"at least {allocated(device)}", seen=while_used)  # fmt: skip
        del big
        torch.accelerator.empty_cache()
        after = torch.accelerator.memory_reserved(device)
        if took >= 32 * MIB:
            check.that("memory_reserved() after empty_cache()", after <= while_used - 32 * MIB,
                       expected=f"at most {while_used - 32 * MIB}", seen=after)  # fmt: skip
        else:
            check.evidence(check.NOT_SHOWN, "32 MiB fit into what was reserved for others")
        for tensor in held:
            check.tensor("values that live", host.download(tensor), sent)


@clause("MEM-519", needs="lazy memory_stats host_cache", fresh=True)
def test_emptying_starts_nothing(device: torch.device) -> None:
    torch.accelerator.empty_cache()
    torch.accelerator.empty_host_cache()
    check.equal("is_initialized()", torch.get_device_module(device).is_initialized(), False)
    before = _held(device)  # not always nothing: a device may hold memory from the start
    torch.accelerator.empty_cache()
    check.equal("memory_stats() after emptying once more", _held(device), before)


def _held(device: torch.device) -> dict[str, int]:
    """Returns what is in use and reserved; calls that did nothing may be counted."""
    return {name: value for name, value in stats(device).items() if name.endswith(".current")}


@clause("MEM-533", needs="accelerator")
def test_the_profiler_hears_of_it(device: torch.device) -> None:
    size = 3 * MIB
    with used(device):
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
            tensor = torch.empty(size, dtype=torch.uint8, device=device)
            del tensor
        seen = [event.device_memory_usage for event in profiled.events()]
        check.that("memory that was taken", any(one >= size for one in seen),
                   expected=f"{size} at least", seen=seen)  # fmt: skip
        check.that("memory that was given back", any(one <= -size for one in seen),
                   expected=f"{-size} at most", seen=seen)  # fmt: skip


@clause("MEM-535", needs="memory_stats")
def test_nothing_is_lost(device: torch.device) -> None:
    with used(device):
        before = allocated(device)
        for round_ in range(5000):
            tensor = torch.empty(1 + round_ * 37 % 9001, device=device)
            if round_ % 100 == 0:
                tensor.untyped_storage().resize_(8 + round_)
                target = torch.empty(3, device=device)
                check.raises(
                    "a copy that fails", RuntimeError, partial(target.copy_, torch.ones(4))
                )
        del tensor, target
        check.equal("memory_allocated()", allocated(device), before)
