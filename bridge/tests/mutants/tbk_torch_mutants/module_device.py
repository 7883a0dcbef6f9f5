# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The device module, and what PyTorch has under the device's name."""

from __future__ import annotations

import atexit
import functools
import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence

from tbk_torch_mutants import kernels, table
from tbk_torch_mutants.native import apply_native

mutant = functools.partial(table.mutant, mechanism="module")


def name() -> str:
    """Returns what the device is called."""
    return str(torch._C._get_privateuse1_backend_name())


def module() -> Any:
    """torch.<name>."""
    return torch.get_device_module(name())


def patch(owner: Any, attribute: str, change: Callable[..., Any]) -> None:
    """`change` gets what was there, and the arguments."""
    before = getattr(owner, attribute)
    setattr(owner, attribute, lambda *given, **named: change(before, *given, **named))


def answer(owner: Any, attribute: str, value: object) -> None:
    """A function that gives `value`, whatever it is asked."""
    setattr(owner, attribute, lambda *_, **__: value)


def fail(owner: Any, attribute: str, text: str) -> None:
    def raises(*_: object, **__: object) -> None:
        raise RuntimeError(text)

    setattr(owner, attribute, raises)


@mutant("module_count_raises", "DEV-501", "device_count of the module raises")
def _() -> None:
    fail(module(), "device_count", "the driver does not answer")


@mutant("module_counts_one_less", "DEV-502", "device_count of the module is one less")
def _() -> None:
    patch(module(), "device_count", lambda count: count() - 1)


@mutant("module_count_differs_in_threads", "DEV-503", "no devices in a thread", narrow=True)
def _() -> None:
    import threading  # noqa: PLC0415  # of this mutant alone

    here = threading.get_ident()
    patch(module(), "device_count", lambda count: count() * (threading.get_ident() == here))


@mutant("module_set_device_takes_minus_1", "DEV-508", "set_device(-1) is set_device(0)")
def _() -> None:
    patch(module(), "set_device", lambda set_device, index: set_device(0 if index == -1 else index))


@mutant("module_set_device_refuses_minus_1", "DEV-508", "set_device(-1) raises")
def _() -> None:
    def refuse(set_device: Any, index: Any) -> None:
        if index == -1:
            raise RuntimeError("there is no device -1")
        set_device(index)

    patch(module(), "set_device", refuse)


@mutant("module_set_device_takes_any_type", "DEV-514", "set_device of the CPU has no effect")
def _() -> None:
    def take(set_device: Any, index: Any) -> None:
        if not isinstance(index, torch.device) or index.type == name():
            set_device(index)

    patch(module(), "set_device", take)


@mutant("device_without_index_is_0", "DEV-515", "without an index it is device 0")
def _() -> None:
    def make(original: Any, *given: Any, **named: Any) -> Any:
        if named.get("device") is not None and named["device"].index is None:
            named["device"] = torch.device(name(), 0)
        return original(*given, **named)

    kernels.around("empty.memory_format empty_strided", make)


@mutant("module_availability_raises", "DEV-516", "is_available of the module raises")
def _() -> None:
    fail(module(), "is_available", "no driver")


@mutant("module_is_not_available", "DEV-516 DEV-519", "is_available of the module is False")
def _() -> None:
    answer(module(), "is_available", False)


@mutant("module_availability_opens", "DEV-517", "is_available starts the device")
def _() -> None:
    def opens(ask: Any) -> Any:
        torch.empty(1, device=name())
        return ask()

    patch(module(), "is_available", opens)


@mutant(
    "always_initialized_module",
    "DEV-517 DEV-520 DEV-528 STR-513 PIN-504",
    "is_initialized is always True",
)
def _() -> None:
    answer(module(), "is_initialized", True)


@mutant("never_initialized_module", "DEV-520", "is_initialized is never True")
def _() -> None:
    answer(module(), "is_initialized", False)


@mutant("second_init_of_module_raises", "DEV-522", "init raises the second time")
def _() -> None:
    calls = itertools.count()

    def init(original: Any) -> None:
        if next(calls):
            raise RuntimeError("initialised before")
        original()

    patch(module(), "init", init)


@mutant("rename_twice_raises", "DEV-526", "the same name may not be given again")
def _() -> None:
    fail(torch.utils.backend_registration, "rename_privateuse1_backend", "it has a name")


@mutant("rename_takes_any_name", "DEV-526", "another name has no effect, and no error")
def _() -> None:
    answer(torch.utils.backend_registration, "rename_privateuse1_backend", None)


@mutant("second_module_wins", "DEV-527", "a second device module takes the first's place")
def _() -> None:
    patch(torch, "_register_device_module", lambda _, kind, other: setattr(torch, kind, other))


@mutant("import_opens", "DEV-528", "the import starts device 0")
def _() -> None:
    torch.empty(1, device=torch.device(name(), 0))


@mutant("accelerator_is_another", "DEV-530", "another accelerator is answered")
def _() -> None:
    answer(torch.accelerator, "current_accelerator", torch.device("cuda"))


@mutant("tensor_method_ignores_index", "DEV-531", "Tensor.<name>(1) goes to device 0", narrow=True)
def _() -> None:
    patch(torch.Tensor, name(), lambda move, tensor, *_: move(tensor, 0))


@mutant("module_method_ignores_index", "DEV-531", "Module.<name>(1) goes to device 0", narrow=True)
def _() -> None:
    patch(torch.nn.Module, name(), lambda move, owner, *_: move(owner, 0))


@mutant("packed_sequence_is_nowhere", "DEV-531", "PackedSequence.is_<name> is always False")
def _() -> None:
    setattr(PackedSequence, f"is_{name()}", property(lambda _: False))


@mutant("device_context_does_not_restore", "DEV-533", "device(index) stays current behind it")
def _() -> None:
    answer(module().device, "__exit__", None)


@mutant("device_context_does_nothing", "DEV-533", "device(index) is not current inside")
def _() -> None:
    answer(module().device, "__enter__", None)


def _only_at_its_end(context: Any) -> None:
    """What is raised inside leaves everything as it is."""

    def leave(before: Callable[..., Any], self: Any, kind: Any, *given: Any) -> Any:
        return None if kind is not None else before(self, kind, *given)

    before = context.__exit__
    context.__exit__ = lambda self, *given: leave(before, self, *given)


@mutant("stream_context_is_kept_by_an_exception", "GRD-507",
        "stream(...) stays current where its block raises", narrow=True)  # fmt: skip
def _() -> None:
    _only_at_its_end(type(module().stream(None)))


@mutant("device_context_is_kept_by_an_exception", "GRD-501 DEV-533",
        "device(index) stays current where its block raises", narrow=True)  # fmt: skip
def _() -> None:
    _only_at_its_end(module().device)


@mutant("module_synchronizes_the_current_device", "STR-511",
        "synchronize of the module ignores the device named", narrow=True)  # fmt: skip
def _() -> None:
    patch(module(), "synchronize", lambda before, *_, **__: before())


@mutant("no_device_context", "DEV-533", "there is no device(index)")
def _() -> None:
    del type(module()).device


@mutant("guard_for_none_is_for_0", "GRD-502", "a guard for no device is one for device 0")
def _() -> None:
    guard = torch.accelerator.device_index
    patch(guard, "__init__", lambda make, self, index: make(self, 0 if index is None else index))


@mutant("device_index_does_not_restore", "GRD-501", "a device guard changes nothing at its end")
def _() -> None:
    answer(torch.accelerator.device_index, "__exit__", None)


@mutant("guards_end_with_the_interpreter", "GRD-508", "guards do nothing at exit")
def _() -> None:
    atexit.register(lambda: apply_native("exchange_device_does_nothing"))


def _leave_device(original: Any, *given: Any, **named: Any) -> Any:
    made = original(*given, **named)
    torch.accelerator.set_device_index(made.device.index)
    return made


@mutant("empty_sets_device", "GRD-505", "torch.empty makes its device current")
def _() -> None:
    kernels.around("empty.memory_format", _leave_device)


@mutant("add_sets_device", "GRD-505", "an operator makes its device current", narrow=True)
def _() -> None:
    kernels.around("add.Tensor", _leave_device)


@mutant(
    "failed_empty_sets_device", "GRD-504 ERR-502", "an allocation that fails stays on its device"
)
def _() -> None:
    def make(original: Any, *given: Any, **named: Any) -> Any:
        try:
            return original(*given, **named)
        except RuntimeError:
            torch.accelerator.set_device_index(named["device"])
            raise

    kernels.around("empty.memory_format", make)


@mutant("failed_mm_sets_device", "GRD-504", "an operator that fails stays on its device")
def _() -> None:
    def multiply(original: Any, left: torch.Tensor, *given: Any, **named: Any) -> Any:
        torch.accelerator.set_device_index(left.device)
        return original(left, *given, **named)

    kernels.around("mm", multiply)


@mutant("module_default_stream_is_new", "STR-501", "default_stream gives a new stream", narrow=True)
def _() -> None:
    patch(module(), "default_stream", lambda _, *where: torch.Stream(*where))


@mutant("set_stream_takes_any_type", "STR-523", "a stream of the CPU is passed over")
def _() -> None:
    def take(set_stream: Any, stream: torch.Stream) -> None:
        if stream.device.type == name():
            set_stream(stream)

    patch(torch.accelerator, "set_stream", take)


def _on_own_stream(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
    if one.device.type == "cpu":
        return original(one, *given, **named)
    former = torch.accelerator.current_stream(one.device)
    index = torch.accelerator.current_device_index()
    torch.accelerator.set_stream(torch.Stream(one.device))
    try:
        return original(one, *given, **named)
    finally:
        torch.accelerator.set_stream(former)
        torch.accelerator.set_device_index(index)


@mutant("operators_on_their_own_streams", "STR-506", "each operator runs on another stream")
def _() -> None:
    kernels.around("copy_ add_.Tensor add_.Scalar", _on_own_stream)


@mutant("unrecorded_events_are_pending", "EVT-501", "an event without a record is not complete")
def _() -> None:
    class Event(torch.Event):
        def query(self) -> bool:
            return self.event_id != 0 and super().query()

    torch.Event = Event  # type: ignore[misc]


@mutant(
    "asking_makes_the_event", "EVT-524", "an event without a record makes its handle when asked"
)
def _() -> None:
    class Event(torch.Event):
        def query(self) -> bool:
            if self.event_id == 0:
                self.record(torch.accelerator.current_stream())
            return super().query()

    torch.Event = Event  # type: ignore[misc]


@mutant(
    "elapsed_time_never_raises",
    "EVT-515",
    "all events lie 0 ms apart, also those that can't be compared",
)
def _() -> None:
    class Event(torch.Event):
        def elapsed_time(self, end_event: torch.Event) -> float:
            try:
                return super().elapsed_time(end_event)
            except Exception:
                return 0.0

    torch.Event = Event  # type: ignore[misc]


@mutant("load_flushes_subnormals", "DEV-590", "as a library does that is built with -ffast-math")
def _() -> None:
    torch.set_flush_denormal(True)


@mutant("first_copy_flushes_subnormals", "DEV-590", "the first copy changes how the host computes",
        narrow=True)  # fmt: skip
def _() -> None:
    def copy(original: Any, *given: Any, **named: Any) -> Any:
        torch.set_flush_denormal(True)
        return original(*given, **named)

    kernels.around("copy_", copy)
