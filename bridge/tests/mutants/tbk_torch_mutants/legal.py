# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Odd but legal devices: each lacks one thing that no clause demands, or does it in another way.

Alone and together they must fail nothing, but for the tests of the GIL: what is odd is written in
Python. `python -m tbk_torch_mutants.legal` prints their names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tbk_torch_mutants import kernels
from tbk_torch_mutants.module_device import module, name, patch
from tbk_torch_mutants.native import apply_native, apply_to_storages

Apply = Callable[[], object]
_legal: dict[str, Apply] = {}

# How PyTorch, and those who extend it, say that there is no such operator.
WORDS = {
    "dispatcher": "Could not run 'aten::{name}' with arguments from the '{key}' backend. This could"
                  " be because the operator doesn't exist for this backend.",
    "operator": "The operator 'aten::{name}' is not currently implemented for the device.",
    "dtype": '"{base}" not implemented for \'Float\'',
    "default": "{base} not implemented. You are likely triggering this with another backend.",
}  # fmt: skip

# Groups of operators that a device may do without; a test may stand on none of them unsaid.
OPERATORS = {
    "matrices": "mm mm.out addmm addmm.out bmm bmm.out",
    "sums": "sum sum.dim_IntList sum.IntList_out mean mean.dim",
    "products": "mul.Tensor mul_.Tensor mul.out mul.Scalar mul_.Scalar",
    "additions": "add.Tensor add_.Tensor add.out add_.Scalar add.Scalar",
    "comparisons": "eq.Tensor eq.Scalar lt.Tensor lt.Scalar gt.Scalar ge.Scalar ne.Scalar",
    "indexing": "index.Tensor index_put_ _index_put_impl_ index_select gather scatter.src",
    "random": "uniform_ normal_ bernoulli_.float random_ random_.from random_.to exponential_",
    "concatenation": "cat cat.out stack",
    "sorting": "sort sort.stable sort.values topk topk.values argmax",
    "fills": "fill_.Scalar fill_.Tensor zero_",
    "where": "where.self",
    "activations": "relu relu_ sigmoid tanh exp log sqrt gelu",
    "record_stream": "record_stream",
    "convolution": "convolution_overrideable convolution_backward_overrideable",
}


def legal(word: str) -> Callable[[Apply], Apply]:
    """The function that follows makes the device odd."""

    def register(apply: Apply) -> Apply:
        _legal[word] = apply
        return apply

    return register


def _lack(operators: str, words: str) -> None:
    """Calls of these operators raise, as PyTorch does where there is none."""
    key = f"PrivateUse1:{name()}"
    for operator in operators.split():
        said = WORDS[words].format(name=operator, base=operator.partition(".")[0], key=key)

        def refuse(_: Any, *given: object, _said: str = said, **named: object) -> None:
            raise NotImplementedError(_said)

        try:
            kernels.around(operator, refuse)
        except RuntimeError:  # there is no kernel of the device's own that could be taken away
            kernels.instead(operator, refuse)


for _number, (_group, _names) in enumerate(OPERATORS.items()):
    _legal[f"no_{_group}"] = functools.partial(
        _lack, _names, list(WORDS)[3 if _group == "convolution" else _number % 3]
    )


def _raising(text: str, kind: type[Exception] = RuntimeError) -> Callable[..., Any]:
    def raises(*_: object, **__: object) -> None:
        raise kind(text)

    return raises


@legal("statistics_before_use")
def _() -> None:
    apply_native("always_initialized")


@legal("recorded_blocks_kept_outside")
def _() -> None:
    apply_to_storages("recorded_blocks_kept_outside")


@legal("no_statistics")
def _() -> None:
    for attribute in ("memory_stats", "memory_allocated", "memory_reserved", "max_memory_allocated",
                      "max_memory_reserved", "reset_peak_memory_stats", "get_memory_info",
                      "reset_accumulated_memory_stats"):  # fmt: skip
        setattr(torch.accelerator, attribute, _raising("no statistics", NotImplementedError))


@legal("no_memory_info")
def _() -> None:
    torch.accelerator.get_memory_info = _raising("not told", NotImplementedError)


@legal("no_pinned_memory")
def _() -> None:
    refuse = _raising("Need to provide pin_memory allocator to use pin memory.")

    def make(before: Any, *given: Any, **named: Any) -> Any:
        return refuse() if named.get("pin_memory") else before(*given, **named)

    for attribute in ("empty", "zeros", "ones", "full", "rand"):
        patch(torch, attribute, make)
    torch.Tensor.pin_memory = refuse  # type: ignore[method-assign]


@legal("no_event_timing")
def _() -> None:
    before = torch.Event

    def make(_: type, *given: Any, **named: Any) -> torch.Event:
        if named.get("enable_timing"):
            raise NotImplementedError("Backend doesn't support elapsedTime.")
        return before(*given, **named)

    torch.Event = _in_place_of(before, __new__=make)  # type: ignore[misc]


def _in_place_of(kind: type, **members: Any) -> Any:
    """Returns a class with other members; instances of the former one are its own, too."""

    def is_one(_: type, instance: object) -> bool:
        return isinstance(instance, kind)

    also = type("Also", (type(kind),), {"__instancecheck__": is_one})
    return also(kind.__name__, (kind,), members)


@legal("no_events")
def _() -> None:
    # There are streams, and nothing to see by how far they are.
    refuse = _raising("Backend doesn't support events.")
    torch.Event = _in_place_of(  # type: ignore[misc]
        torch.Event, record=refuse, query=refuse, synchronize=refuse
    )


@legal("no_streams")
def _() -> None:
    before = torch.Stream

    def make(_: type, *given: Any, **named: Any) -> torch.Stream:
        where = given[0] if given else named.get("device", name())
        if "stream_id" not in named and torch.device(where).type == name():
            raise RuntimeError("Backend doesn't support create a new Stream.")
        return before(*given, **named)

    torch.Stream = _in_place_of(before, __new__=make)  # type: ignore[misc]


@legal("streams_of_own_class")
def _() -> None:
    # The module returns a class of its own, which holds a torch.Stream.
    class Stream:
        def __init__(self, held: torch.Stream) -> None:
            self.held = held

        def __getattr__(self, attribute: str) -> Any:
            return getattr(self.held, attribute)

        def __eq__(self, other: object) -> bool:
            return self.held == getattr(other, "held", other)

        def __hash__(self) -> int:
            return hash(self.held)

    for function in ("current_stream", "default_stream"):
        patch(module(), function, lambda before, *given: Stream(before(*given)))


@legal("arenas")
def _() -> None:
    # The allocator takes 1 GiB from the device whenever it needs more.
    def whole(count: int) -> int:
        return -(-count // (1 << 30)) * (1 << 30)

    def stats(before: Any, *given: Any) -> Any:
        ends = (".current", ".peak")
        return {
            key: whole(value) if key.startswith("reserved_bytes") and key.endswith(ends) else value
            for key, value in before(*given).items()
        }

    for owner in (torch.accelerator, module()):
        patch(owner, "memory_stats", stats)
        for function in ("memory_reserved", "max_memory_reserved"):
            patch(owner, function, lambda before, *given: whole(before(*given)))


@legal("no_generator")
def _() -> None:
    def make(before: Any, *given: Any, **named: Any) -> Any:
        where = torch.device(given[0] if given else named.get("device", "cpu"))
        if where.type == name():
            raise RuntimeError("Device type is not supported for Generator() api.")
        return before(*given, **named)

    patch(torch, "Generator", make)


def _no_dtype(dtype: torch.dtype) -> None:
    def make(original: Any, *given: Any, **named: Any) -> Any:
        if (named.get("dtype") or torch.get_default_dtype()) == dtype:
            raise TypeError(f"this device has no {dtype}")
        return original(*given, **named)

    def capability(ask: Any, *given: Any) -> Any:
        told = ask(*given)
        return {**told, "supported_dtypes": told["supported_dtypes"] - {dtype}}

    kernels.around("empty.memory_format empty_strided", make)
    patch(torch.accelerator, "get_device_capability", capability)


for _dtype in (torch.float64, torch.complex64, torch.int64, torch.bfloat16, torch.uint8,
               torch.bool):  # fmt: skip
    _legal[f"no_{str(_dtype).removeprefix('torch.')}"] = functools.partial(_no_dtype, _dtype)


def _without(*names: str) -> Callable[[], None]:
    def apply() -> None:
        for attribute in names:
            for owner in (module(), type(module())):
                if attribute in vars(owner):
                    delattr(owner, attribute)

    return apply


@legal("wide_statistics")
def _() -> None:
    # It keeps float32 of halves for the gradient, as CUDA does.

    def widen(made: Any, *_: Any) -> Any:
        result, *kept = made
        return (result, *(one.float() for one in kept))

    def narrow(original: Any, grad: Any, value: Any, shape: Any, mean: Any, rstd: Any,
               weight: Any, *rest: Any) -> Any:  # fmt: skip
        if weight is None or weight.dtype == value.dtype:
            mean, rstd = mean.to(value.dtype), rstd.to(value.dtype)
        return original(grad, value, shape, mean, rstd, weight, *rest)

    kernels.result("native_layer_norm", widen)
    kernels.around("native_layer_norm_backward", narrow)


@legal("other_roots")
def _() -> None:
    # The size of a complex number by another formula than PyTorch's: a unit or two beside it.

    def size(original: Any, value: Any) -> Any:
        if value.dtype is not torch.complex64:
            return original(value)
        parts = torch.view_as_real(value.detach().cpu().resolve_conj()).abs()
        most, least = parts.amax(-1), parts.amin(-1)
        ratio = torch.where(most == 0, most, least / most)
        made = most * (1 + ratio * ratio).sqrt()
        return torch.where(parts.isinf().any(-1), torch.inf, made).to(value.device)

    kernels.around("abs", size)


@legal("quotients_and_roots_beside")
def _() -> None:
    # Off by a unit in the last place where the result is not exact; OpenCL allows 2.5 and 3.

    def beside(made: Any, exact: torch.Tensor) -> Any:
        here = made.detach().cpu()
        if here.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            return made
        facts, size = torch.finfo(here.dtype), here.abs()
        plain = (size >= 4 * facts.smallest_normal) & (size <= facts.max / 4)
        up = torch.nextafter(here, torch.tensor(torch.inf, dtype=here.dtype))
        return made.copy_(torch.where(plain & (exact != here.double()), up, here))

    def wide(one: Any) -> Any:
        return one.detach().cpu().double() if isinstance(one, torch.Tensor) else one

    def divided(made: Any, value: Any, other: Any) -> Any:
        return made if made.is_complex() else beside(made, wide(value) / wide(other))

    def rooted(made: Any, value: Any) -> Any:
        return made if made.is_complex() else beside(made, wide(value).sqrt())

    kernels.result("div.Tensor", divided)
    kernels.result("sqrt", rooted)


@legal("largest_mode")
def _() -> None:
    # Of values that are equally frequent it takes the largest, PyTorch's CPU the smallest.

    def mode(_: Any, value: Any, dim: int = -1, keepdim: bool = False) -> Any:
        here = value.detach().cpu()
        signed = here.to(torch.int64) if here.dtype in (torch.bool, torch.uint8) else here
        _, where = torch.mode(-signed, dim, keepdim=True)
        found = torch.gather(here, dim, where), where
        return tuple((one if keepdim else one.squeeze(dim)).to(value.device) for one in found)

    kernels.instead("mode", mode)


@legal("additions_on_the_lower_list")
def _() -> None:
    kind = f"Autocast{torch._C._dispatch_key_for_device(name())}"
    hidden = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, kind))

    def lowered(operator: Any) -> Callable[..., Any]:
        def run(_: Any, *given: Any, **named: Any) -> Any:
            dtype = torch.get_autocast_dtype(name())
            with torch._C._ExcludeDispatchKeyGuard(hidden):
                return operator(*(lower(one, dtype) for one in given), **named)

        return run

    def lower(one: Any, dtype: torch.dtype) -> Any:
        is_ours = isinstance(one, torch.Tensor) and one.device.type == name()
        return one.to(dtype) if is_ours and one.dtype == torch.float32 else one

    for operator in ("add", "mul"):
        kernels.instead(f"{operator}.Tensor", lowered(getattr(torch.ops.aten, operator).Tensor),
                        key=kind)  # fmt: skip


_legal["no_is_initialized"] = _without("is_initialized")
_legal["no_fallback_count"] = _without("fallbacks", "reset_fallbacks")


def names() -> list[str]:
    """All of them."""
    return sorted(_legal)


def apply(words: str) -> None:
    """Make the device that is loaded odd, in each way of `words`, parted by a plus sign."""
    for word in words.split("+"):
        _legal[word]()


if __name__ == "__main__":
    print("\n".join(names()))
