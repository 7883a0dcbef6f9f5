# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the device module answer of another device, of another moment, or something else."""

from __future__ import annotations

import functools
from typing import Any

from tbk_torch_mutants import table
from tbk_torch_mutants.module_device import module, name, patch

mutant = functools.partial(table.mutant, mechanism="module", narrow=True)


def _of_the_first(function: str) -> None:
    """`function` of the module is about device 0, whichever is named."""
    patch(module(), function, lambda before, *_, **__: before(0))


@mutant("module_counts_memory_of_device_0", "DEV-534", "memory_allocated(1) is that of device 0",
        tests="memory_allocated-index")  # fmt: skip
def _() -> None:
    _of_the_first("memory_allocated")


@mutant("module_counts_reserved_memory_of_device_0", "DEV-534",
        "memory_reserved(1) is that of device 0", tests="memory_reserved-text")  # fmt: skip
def _() -> None:
    _of_the_first("memory_reserved")


@mutant("module_has_one_current_stream", "DEV-534", "current_stream(1) is that of device 0",
        tests="current_stream-device")  # fmt: skip
def _() -> None:
    _of_the_first("current_stream")


@mutant("module_has_one_device_s_properties", "DEV-534",
        "get_device_properties(1) is of device 0", tests="properties_are")  # fmt: skip
def _() -> None:
    _of_the_first("get_device_properties")


@mutant("module_default_stream_is_current", "DEV-534",
        "default_stream gives the current one", tests="default_stream")  # fmt: skip
def _() -> None:
    module().default_stream = module().current_stream


@mutant("module_peak_is_current", "DEV-534", "max_memory_allocated is what is allocated now",
        tests="max_memory_allocated")  # fmt: skip
def _() -> None:
    module().max_memory_allocated = module().memory_allocated


@mutant("module_swaps_free_and_total", "DEV-534", "mem_get_info gives total and free",
        tests="mem_get_info")  # fmt: skip
def _() -> None:
    def swap(before: Any, *given: Any) -> tuple[int, int]:
        free, total = before(*given)
        return total, free

    patch(module(), "mem_get_info", swap)


@mutant("module_resets_peaks_of_device_0", "DEV-534",
        "reset_peak_memory_stats(1) is for device 0", tests="peaks_are_reset")  # fmt: skip
def _() -> None:
    _of_the_first("reset_peak_memory_stats")


@mutant("module_takes_a_type_as_device_0", "DEV-534",
        "memory_reserved by the type alone is that of device 0",
        tests="memory_reserved-type")  # fmt: skip
def _() -> None:
    patch(module(), "memory_reserved", lambda before, device=None: (
        before(0 if device == name() else device)))  # fmt: skip
