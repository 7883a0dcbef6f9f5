# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The profiler: what it sees, and that it changes nothing."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, supported_activities

from tbk_contracts.torch import capability, check, host
from tbk_contracts.torch.case import clause

OPERATORS = ("aten::mm", "aten::add", "aten::sum")


class Inside(Exception):  # noqa: N818  # not an error: leaves a block
    pass


def times(profiler: Any) -> dict[str, Any]:
    """Returns what the profiler has seen of each operator."""
    return {row.key: row for row in profiler.key_averages()}


def compute(value: torch.Tensor) -> torch.Tensor:
    return host.download((value @ value.t() + 1).sum(0))


@clause("PRF-504")
def test_cpu_and_device_time_appear_also_after_an_exception(device: torch.device) -> None:
    value = host.upload(host.values((64, 64)), device)
    expected = compute(value)
    measures = capability.probe("profiler", device).held
    for fails in (True, False):
        begin = time.perf_counter()
        try:
            with profile(activities=supported_activities()) as profiler:
                seen = compute(value)
                if fails:
                    raise Inside
        except Inside:
            check.note("left by an exception")
        wall_us = (time.perf_counter() - begin) * 1e6
        check.tensor("the result under the profiler", seen, expected)
        rows = times(profiler)
        check.that("operators in the profile", set(OPERATORS) <= set(rows),
                   expected=OPERATORS, seen=sorted(rows))  # fmt: skip
        own_us = [rows[name].self_cpu_time_total for name in OPERATORS]
        right = min(own_us) > 0 and sum(own_us) <= wall_us
        check.that("CPU time of operators", right,
                   expected=f"above 0, together at most {wall_us:.0f} us", seen=own_us)  # fmt: skip
        if measures:
            device_us = sum(row.self_device_time_total for row in rows.values())
            check.that("device time", device_us > 0, expected="more than 0", seen=device_us)
    check.tensor("the result after profiling", compute(value), expected)


@clause("PRF-507", needs="accelerator stream")
def test_profiling_changes_neither_results_nor_what_is_current(
    devices: list[torch.device],
) -> None:
    def state() -> tuple[int, list[torch.Stream]]:
        streams = [torch.accelerator.current_stream(device) for device in devices]
        return torch.accelerator.current_device_index(), streams

    last = devices[-1]
    value = host.upload(host.values((32, 32)), last)
    expected = compute(value)
    before = state()
    try:
        torch.accelerator.set_stream(torch.Stream(last))
        chosen = state()
        for activities in ([ProfilerActivity.CPU], supported_activities()):
            with profile(activities=activities):
                check.equal("what is current under the profiler", state(), chosen)
                check.tensor("the result under the profiler", compute(value), expected)
            check.equal("what is current after it", state(), chosen)
        check.tensor("the result after profiling", compute(value), expected)
    finally:
        for stream in before[1]:
            torch.accelerator.set_stream(stream)
        torch.accelerator.set_device_index(before[0])
