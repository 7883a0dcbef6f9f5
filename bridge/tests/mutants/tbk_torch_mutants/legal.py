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
from tbk_torch_mutants.legal_table import legal, rows
from tbk_torch_mutants.legal_values import REALS  # and its rows
from tbk_torch_mutants.module_device import module, name, patch
from tbk_torch_mutants.native import apply_native, apply_to_storages

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
    rows[f"no_{_group}"] = functools.partial(
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
    rows[f"no_{str(_dtype).removeprefix('torch.')}"] = functools.partial(_no_dtype, _dtype)


def _without(*names: str) -> Callable[[], None]:
    def apply() -> None:
        for attribute in names:
            for owner in (module(), type(module())):
                if attribute in vars(owner):
                    delattr(owner, attribute)

    return apply


rows["no_is_initialized"] = _without("is_initialized")
rows["no_fallback_count"] = _without("fallbacks", "reset_fallbacks")


@legal("one_stream_beside_the_default")
def _() -> None:
    # All streams that are made are that one.
    before = torch.Stream
    held: dict[int, torch.Stream] = {}

    def make(_: type, *given: Any, **named: Any) -> torch.Stream:
        where = given[0] if given else named.get("device", name())
        where = torch.device(name(), where) if isinstance(where, int) else torch.device(where)
        if "stream_id" in named or where.type != name():
            return before(*given, **named)
        index = torch.accelerator.current_device_index() if where.index is None else where.index
        one = held.setdefault(index, before(torch.device(name(), index)))
        return before(
            stream_id=one.stream_id, device_index=one.device_index, device_type=one.device_type
        )

    torch.Stream = _in_place_of(before, __new__=make)  # type: ignore[misc]


@legal("properties_in_a_dict")
def _() -> None:
    module().get_device_properties = lambda *_: {"memory": 5, "uuid": b""}


@legal("no_bfloat16_by_its_own_word")
def _() -> None:
    module().is_bf16_supported = lambda *_: False


@legal("autocast_to_what_the_thread_that_imports_sets")
def _() -> None:
    patch(module(), "get_amp_supported_dtype", lambda _: (torch.bfloat16, torch.float16))
    was = torch.get_autocast_dtype(name())
    torch.set_autocast_dtype(name(), torch.bfloat16 if was == torch.float16 else torch.float16)


class VendorError(RuntimeError):
    """Tells what a runtime says, by a class of its own."""


@legal("errors_of_own_class")
def _() -> None:
    def run(original: Any, *given: Any, **named: Any) -> Any:
        try:
            return original(*given, **named)
        except RuntimeError as error:
            if type(error) is RuntimeError:
                raise VendorError(f"runtime: {error}") from None
            raise

    kernels.around("mm cat index_select gather dot where.self copy_", run)


@legal("no_products_of_integers")
def _() -> None:
    # As the library says it of which the device's operators are made.
    def multiply(original: Any, *given: Any, **named: Any) -> Any:
        for one in given:
            if isinstance(one, torch.Tensor) and one.dtype not in REALS:
                kind = str(one.dtype).removeprefix("torch.").upper()
                raise RuntimeError(
                    f"call vendorMatmul failed, detail: Tensor mat not implemented for DT_{kind}, "
                    f"should be in dtype support list [DT_FLOAT]."
                )
        return original(*given, **named)

    kernels.around("mm bmm addmm baddbmm addmv mv dot addbmm", multiply)


@legal("storages_of_whole_pages")
def _() -> None:
    def make(original: Any, *given: Any, **named: Any) -> Any:
        made = original(*given, **named)
        storage, page = made.untyped_storage(), 512
        if 0 < storage.nbytes() < 1 << 40:
            storage.resize_(-(-storage.nbytes() // page) * page)
        return made

    kernels.around("empty.memory_format empty_strided", make)


def names() -> list[str]:
    """All of them."""
    return sorted(rows)


def apply(words: str) -> None:
    """Make the device that is loaded odd, in each way of `words`, parted by a plus sign."""
    for word in words.split("+"):
        rows[word]()


if __name__ == "__main__":
    print("\n".join(names()))
