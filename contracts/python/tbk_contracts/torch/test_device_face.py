# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Compares what a device's module answers with what PyTorch answers of it in another way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pytest
import torch

from tbk_contracts.torch import capability, check, host
from tbk_contracts.torch.case import clause

STEP, PIECE = 1 << 16, 2 << 20  # bytes
MOST = 32
Answer = Callable[..., Any]
FORMS: dict[str, Callable[[torch.device], tuple[object, ...]]] = {
    "index": lambda device: (device.index,),
    "text": lambda device: (str(device),),
    "device": lambda device: (device,),
    "none": lambda _: (),
    "type": lambda device: (device.type,),
    "device without index": lambda device: (torch.device(device.type),),
}
OF_CURRENT = ("none", "type", "device without index")


def default_of(device: torch.device) -> torch.Stream:
    return host.in_thread(lambda: torch.accelerator.current_stream(device))


# Functions of the module with another name than what answers the same, or with nothing in
# torch.accelerator that does.
TWINS: dict[str, Answer] = {
    "current_device": torch.accelerator.current_device_index,
    "default_stream": default_of,
    "mem_get_info": torch.accelerator.get_memory_info,
}
OF_ALL = ("device_count", "is_available", "current_device")
ACTS = (
    "current_accelerator", "current_device_id", "current_device_index", "reset_", "set_", "empty_",
    "synchronize", "Graph", "device_index", "get_memory_info",
)  # fmt: skip
TRIES = 5


def names() -> list[str]:
    """Returns the functions of torch.accelerator that answer something, and the other twins."""
    asked = (name for name in torch.accelerator.__all__ if not name.startswith(ACTS))
    return sorted({*asked, *TWINS})


def _both(ask: Answer, twin: Answer) -> tuple[Any, Any]:
    """Returns two answers of one moment: other processes may take memory in between."""
    for _ in range(TRIES):
        before, seen, after = twin(), ask(), twin()
        if _plain(before) == _plain(after):
            break
    return _alike(seen, after)


def _twin(name: str) -> Answer:
    found: Answer = TWINS.get(name) or getattr(torch.accelerator, name)
    return found


def _plain(answer: Any) -> Any:
    """Returns what compares: of a stream its id and device, whatever class it is of."""
    if hasattr(answer, "stream_id") and hasattr(answer, "device"):
        return answer.stream_id, answer.device
    return answer


def _alike(seen: Any, expected: Any) -> tuple[Any, Any]:
    """Returns both, with the members alone that both have: a module may tell more, in its own
    words."""
    if isinstance(expected, dict):
        shared = expected.keys() & seen.keys() if isinstance(seen, dict) else ()
        return {key: seen[key] for key in shared}, {key: expected[key] for key in shared}
    return _plain(seen), _plain(expected)


def _reserve(device: torch.device, above: int) -> list[torch.Tensor]:
    """Returns tensors for which the device's allocator holds more than `above` bytes; fewer, where
    the memory or the patience ends: it takes memory in pieces of its own choice."""
    kept: list[torch.Tensor] = []
    with suppress(torch.OutOfMemoryError):
        while len(kept) < MOST and torch.accelerator.memory_reserved(device) <= above:
            kept.append(torch.empty(PIECE, dtype=torch.uint8, device=device))
    return kept


@contextmanager
def apart(devices: list[torch.device]) -> Iterator[None]:
    """Inside, no two devices are alike: each holds more than the one before and has held more yet,
    its allocator too, and it has a stream of its own current, where it has streams; the first
    device is current."""
    first = torch.accelerator.current_stream()
    formerly = [torch.accelerator.current_stream(device) for device in devices]
    kept, reserved = [], 0
    try:
        for index, device in enumerate(devices):
            kept.append(torch.empty((index + 1) * STEP, dtype=torch.uint8, device=device))
            held = capability.probe("memory_stats", device).held
            kept += _reserve(device, above=reserved) if held else []
            torch.empty((index + 1) * 4 * STEP, dtype=torch.uint8, device=device)
            reserved = torch.accelerator.memory_reserved(device) if held else 0
            if capability.probe("stream", device).held:
                torch.accelerator.set_stream(torch.Stream(device))
        torch.accelerator.set_device_index(0)
        yield
    finally:
        for stream in (*formerly, first):
            torch.accelerator.set_stream(stream)
        torch.accelerator.set_device_index(0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", names())
@clause("DEV-534", needs="accelerator module")
def test_the_module_answers_as_torch_accelerator_does(
    devices: list[torch.device], module: Any, name: str, form: str
) -> None:
    ask, twin = getattr(module, name, None), _twin(name)
    if not callable(ask):
        check.evidence(check.NOT_SHOWN, f"the module has no function {name}")
        return
    with apart(devices):
        for device in reversed(devices):
            if form in OF_CURRENT:
                torch.accelerator.set_device_index(device)
            given = () if name in OF_ALL else FORMS[form](device)
            asked_of = () if name in OF_ALL else (device,)
            try:
                seen, wanted = _both(partial(ask, *given), partial(twin, *asked_of))
            except NotImplementedError as error:
                check.evidence(check.NOT_SHOWN, f"the device says: {error}")
                return
            check.equal(f"{name} by {form}", seen, wanted)


@pytest.mark.parametrize("form", FORMS)
@clause("DEV-534", needs="accelerator module")
def test_properties_are_of_the_device_that_is_named(
    devices: list[torch.device], module: Any, form: str
) -> None:
    if not all(hasattr(module, name) for name in ("get_device_properties", "get_device_name")):
        check.evidence(check.NOT_SHOWN, "the module does not tell name and properties")
        return
    with apart(devices):
        for device in reversed(devices):
            if form in OF_CURRENT:
                torch.accelerator.set_device_index(device)
            told = module.get_device_properties(*FORMS[form](device))
            named = told.get("name") if isinstance(told, Mapping) else getattr(told, "name", None)
            if named is None:
                check.evidence(check.NOT_SHOWN, "the properties have no name")
                return
            check.equal("the name in the properties", named,
                        module.get_device_name(*FORMS[form](device)))  # fmt: skip


@pytest.mark.parametrize("form", ["index", "text", "device"])
@clause("DEV-534", needs="accelerator module")
def test_set_device_takes_each_name_of_a_device(
    devices: list[torch.device], module: Any, form: str
) -> None:
    try:
        for device in (*reversed(devices), devices[-1]):
            module.set_device(*FORMS[form](device))
            check.equal(f"the current device, set by {form}",
                        torch.accelerator.current_device_index(), device.index)  # fmt: skip
    finally:
        torch.accelerator.set_device_index(0)


@clause("DEV-534", needs="accelerator module")
def test_set_device_of_the_type_alone_changes_nothing(
    devices: list[torch.device], module: Any
) -> None:
    """It may be refused, as torch.cuda does."""
    torch.accelerator.set_device_index(devices[-1])
    try:
        with suppress(ValueError, RuntimeError):
            module.set_device(torch.device(devices[0].type))
        check.equal("the current device", torch.accelerator.current_device_index(),
                    devices[-1].index)  # fmt: skip
    finally:
        torch.accelerator.set_device_index(0)


@pytest.mark.parametrize("form", FORMS)
@clause("DEV-534", needs="accelerator module memory_stats")
def test_peaks_are_reset_on_the_device_that_is_named(
    devices: list[torch.device], module: Any, form: str
) -> None:
    if not hasattr(module, "reset_peak_memory_stats"):
        check.evidence(check.NOT_SHOWN, "the module does not reset peaks")
        return
    peak, now = torch.accelerator.max_memory_allocated, torch.accelerator.memory_allocated
    with apart(devices):
        for count, device in enumerate(devices):
            if form in OF_CURRENT:
                torch.accelerator.set_device_index(device)
            before = [peak(each) for each in devices[count + 1 :]]
            module.reset_peak_memory_stats(*FORMS[form](device))
            check.equal("the peak that was reset", peak(device), now(device))
            check.equal("peaks of devices behind it", [peak(each) for each in devices[count + 1 :]],
                        before)  # fmt: skip


@clause("DEV-534", needs="accelerator module")
def test_bfloat16_works_where_it_is_called_supported(device: torch.device, module: Any) -> None:
    """Where it works and is called unsupported, it may be slow, or emulated."""
    if not hasattr(module, "is_bf16_supported"):
        check.evidence(check.NOT_SHOWN, "the module does not tell")
        return
    if not module.is_bf16_supported():
        check.evidence(check.NOT_SHOWN, "the module calls bfloat16 unsupported")
        return
    check.equal("tensors of bfloat16 go there and back",
                host.goes_round(torch.bfloat16, device), True)  # fmt: skip
