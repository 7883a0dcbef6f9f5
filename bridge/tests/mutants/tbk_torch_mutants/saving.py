# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What is saved, copied and loaded."""

from __future__ import annotations

from typing import Any

import torch
from torch import serialization

from tbk_torch_mutants.module_device import name, patch
from tbk_torch_mutants.table import mutant


def _ours(storage: Any) -> bool:
    return bool(storage.device.type == name())


def _register(tag: Any, load: Any) -> None:
    """Come first among those that PyTorch asks where a storage is, and where it goes."""
    serialization.register_package(
        0,
        lambda storage: tag(storage) if _ours(storage) else None,
        lambda storage, location: load(storage, location) if location.startswith(name()) else None,
    )


def _tag(storage: Any) -> str:
    return str(storage.device)


def _to(storage: Any, location: str) -> Any:
    return storage.to(device=torch.device(location))


@mutant("location_has_no_index", "SER-502 SER-503", "the location is the name alone")
def _() -> None:
    _register(lambda storage: name(), _to)


@mutant("location_is_device_0", "SER-502", "the location is device 0", narrow=True)
def _() -> None:
    _register(lambda storage: f"{name()}:0", _to)


@mutant("state_dict_from_wrong_device", "SER-503", "what is loaded goes to device 1")
def _() -> None:
    _register(_tag, lambda storage, location: _to(storage, f"{name()}:1"))


@mutant("loaded_storage_stays_on_the_host", "SER-501 SER-503", "what is loaded stays on the CPU")
def _() -> None:
    _register(_tag, lambda storage, location: storage)


@mutant("loaded_storage_ends_after_a_page", "SER-501", "what is loaded is 0 after 4,096 bytes",
        narrow=True)  # fmt: skip
def _() -> None:
    def load(storage: Any, location: str) -> Any:
        made = _to(storage, location)
        if storage.nbytes() > 4096:
            torch.empty(0, dtype=torch.uint8, device=made.device).set_(made)[4096:].zero_()
        return made

    _register(_tag, load)


@mutant("missing_device_is_device_0", "SER-504", "a device that is not there is device 0")
def _() -> None:
    def load(storage: Any, location: str) -> Any:
        index = torch.device(location).index or 0
        return _to(storage, location if index < 2 else f"{name()}:0")

    _register(_tag, load)


@mutant(
    "missing_device_is_not_named", "SER-504", "an error that does not name the index", narrow=True
)
def _() -> None:
    def load(storage: Any, location: str) -> Any:
        if (torch.device(location).index or 0) > 1:
            raise RuntimeError("invalid device")
        return _to(storage, location)

    _register(_tag, load)


def _rebuilt(here: torch.Tensor, where: str) -> torch.Tensor:
    return here.to(where)


def _reduce(change: Any) -> None:
    """`change(before, tensor)` in place of how a tensor is taken apart for saving."""

    def reduce(before: Any, one: torch.Tensor, protocol: Any) -> Any:
        return change(lambda it: before(it, protocol), one) if _ours(one) else before(one, protocol)

    patch(torch.Tensor, "__reduce_ex__", reduce)


@mutant("files_need_the_backend", "SER-505", "a file loads only where the backend's package is")
def _() -> None:
    _reduce(lambda before, one: (_rebuilt, (one.detach().cpu(), str(one.device))))


@mutant("strides_are_not_saved", "SER-501", "what comes back is contiguous")
def _() -> None:
    _reduce(lambda before, one: before(one.detach().clone(memory_format=torch.contiguous_format)))


@mutant("sharing_is_not_saved", "SER-501", "a view comes back as a copy", narrow=True)
def _() -> None:
    def copy(before: Any, one: torch.Tensor) -> Any:
        return before(one.clone() if one._is_view() else one)

    _reduce(copy)


@mutant("requires_grad_is_not_saved", "SER-501", "a leaf comes back without", narrow=True)
def _() -> None:
    _reduce(lambda before, one: before(one.detach()))


@mutant("deep_copies_share", "SER-507", "a deep copy is the tensor itself")
def _() -> None:
    def copy(before: Any, one: torch.Tensor, memo: Any) -> Any:
        return one if _ours(one) else before(one, memo)

    patch(torch.Tensor, "__deepcopy__", copy)


@mutant("pickles_come_back_on_the_host", "SER-507", "a pickle comes back on the CPU", narrow=True)
def _() -> None:
    _reduce(lambda before, one: (_rebuilt, (one.detach().cpu(), "cpu")))


@mutant(
    "optimizer_state_stays_on_the_host",
    "SER-508",
    "what an optimizer loads stays on the CPU",
    tests="optimizer",
)
def _() -> None:
    torch.optim.Optimizer._process_value_according_to_param_policy = staticmethod(  # type: ignore[method-assign]
        lambda param, value, *_, **__: value.cpu()
    )


@mutant("optimizer_state_is_lost", "SER-508", "what an optimizer loads is 0", narrow=True)
def _() -> None:
    before = torch.optim.Optimizer._process_value_according_to_param_policy

    def lose(*given: Any, **named: Any) -> torch.Tensor:
        return before(*given, **named).clone().zero_()

    torch.optim.Optimizer._process_value_according_to_param_policy = staticmethod(lose)  # type: ignore[method-assign]
