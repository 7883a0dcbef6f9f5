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
    class Event(torch.Event):
        def __new__(cls, *given: Any, **named: Any) -> Any:
            if named.get("enable_timing"):
                raise NotImplementedError("Backend doesn't support elapsedTime.")
            return super().__new__(cls, *given, **named)

    torch.Event = Event  # type: ignore[misc]


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
