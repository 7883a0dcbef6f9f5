# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Gradients, and automatic mixed precision."""

from __future__ import annotations

import math
import weakref
from typing import Any

import torch

from tbk_torch_mutants.copy_order import default_stream
from tbk_torch_mutants.kernels import around, result
from tbk_torch_mutants.table import mutant

AUTOCAST = "AutocastPrivateUse1"


def _leaf(one: Any) -> bool:
    return isinstance(one, torch.Tensor) and one.requires_grad


@mutant(
    "gradient_of_mm_is_doubled",
    "AGD-501",
    "the gradient of a product of matrices is twice it",
    tests="of_the_host[products",
)
def _() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(left, right)
            return left.detach() @ right.detach()

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            left, right = ctx.saved_tensors
            return 2 * gradient @ right.t(), left.t() @ gradient

    def multiply(original: Any, left: torch.Tensor, right: torch.Tensor) -> Any:
        if torch.is_grad_enabled() and (_leaf(left) or _leaf(right)):
            return Doubled.apply(left, right)  # type: ignore[no-untyped-call]
        return original(left, right)

    around("mm", multiply, key="AutogradPrivateUse1")


@mutant(
    "gradient_of_where_is_lost",
    "AGD-501",
    "where has no gradient",
    narrow=True,
    tests="of_the_host[where",
)
def _() -> None:
    result("where.self", lambda made, *_: made.detach(), key="AutogradPrivateUse1")


@mutant("gradient_of_copy_is_lost", "AGD-506", "a copy between devices ends the graph")
def _() -> None:
    def copy(original: Any, one: torch.Tensor, **named: Any) -> Any:
        made = original(one, **named)
        return made.detach() if made.device.type == "cpu" else made

    around("_to_copy", copy, key="AutogradPrivateUse1")


@mutant("gradient_arrives_on_device_0", "AGD-506", "a gradient of device 1 is 0", narrow=True)
def _() -> None:
    def copy(original: Any, one: torch.Tensor, **named: Any) -> Any:
        made = original(one, **named)
        device = named.get("device")
        return made * 0 if device is not None and device.index == 1 else made

    around("_to_copy", copy)


@mutant("saved_tensors_stay", "AGD-509", "what is multiplied is kept for ever")
def _() -> None:
    kept = []

    def keep(made: torch.Tensor, one: Any, *_: Any) -> torch.Tensor:
        kept.append(one)
        return made

    result("mul.Tensor", keep)


@mutant("no_grad_is_ignored", "AGD-507", "no_grad records", narrow=True)
def _() -> None:
    def multiply(original: Any, *given: Any, **named: Any) -> Any:
        with torch.enable_grad():
            return original(*given, **named)

    around("mul.Tensor", multiply, key="AutogradPrivateUse1")


@mutant(
    "sum_of_gradients_on_default_stream", "AGD-503", "gradients are added on the default stream"
)
def _() -> None:
    def add(original: Any, one: torch.Tensor, *given: Any, **named: Any) -> Any:
        with default_stream(one.device):
            return original(one, *given, **named)

    around("add.Tensor add_.Tensor", add)


@mutant(
    "backward_reads_forgotten_memory", "AGD-505", "memory of a gradient is given out again early"
)
def _() -> None:
    from tbk_torch_mutants.native import apply_native  # noqa: PLC0415  # the one of its kind here

    apply_native("record_stream_is_ignored")
    apply_native("context_never")  # or the caller's stream waits for the rest


@mutant(
    "missing_derivative_is_0", "AGD-508", "an operator without a derivative has a gradient of 0"
)
def _() -> None:
    before = torch.library.custom_op

    def define(*given: Any, **named: Any) -> Any:
        def made(function: Any) -> Any:
            operator = before(*given, **named)(function)
            operator.register_autograd(lambda ctx, gradient: gradient * 0)
            return operator

        return made

    torch.library.custom_op = define


@mutant("autocast_dtype_is_ignored", "AMP-502", "autocast leaves operators in float32")
def _() -> None:
    def multiply(original: Any, left: torch.Tensor, right: torch.Tensor, *given: Any) -> Any:
        return original(left, right, *given).float()

    around("mm addmm bmm", multiply, key=AUTOCAST)


@mutant("autocast_to_other_dtype", "AMP-502", "bfloat16 where float16 was asked for", narrow=True)
def _() -> None:
    result("mm", lambda made, *_: made.to(torch.bfloat16), key=AUTOCAST)


@mutant(
    "autocast_lowers_softmax", "AMP-502", "what is to be in float32 stays in float16", narrow=True
)
def _() -> None:
    result(
        "softmax.int exp pow.Tensor_Scalar mse_loss l1_loss asin log cumsum prod"
        " linalg_vector_norm layer_norm cosine_similarity rsqrt tan",
        lambda made, *_: made.half(),
        key=AUTOCAST,
    )


@mutant("autocast_does_not_promote", "AMP-502", "not the widest dtype, but the lower one",
        narrow=True)  # fmt: skip
def _() -> None:
    result("dot scatter_add index_copy", lambda made, *_: made.half(), key=AUTOCAST)


@mutant(
    "autocast_lowers_all", "AMP-504", "operators on no list are lowered, too", tests="[add] [mul]"
)
def _() -> None:
    def lower(made: torch.Tensor, *_: Any) -> torch.Tensor:
        enabled = torch.is_autocast_enabled(made.device.type)
        return made.half() if enabled and made.dtype == torch.float32 else made

    result("add.Tensor mul.Tensor relu neg sub.Tensor", lower)


@mutant("autocast_list_is_empty", "AMP-501", "the module lists no dtype")
def _() -> None:
    from tbk_torch_mutants.module_device import answer, module  # noqa: PLC0415

    answer(module(), "get_amp_supported_dtype", [])


@mutant("autocast_list_is_missing", "AMP-501", "the module has no list")
def _() -> None:
    from tbk_torch_mutants.module_device import module  # noqa: PLC0415

    del type(module()).get_amp_supported_dtype


@mutant("autocast_claims_float64", "AMP-503", "a dtype that it has not is listed")
def _() -> None:
    from tbk_torch_mutants.module_device import answer, module  # noqa: PLC0415

    every = [torch.float16, torch.bfloat16, torch.float64, torch.float32, torch.int32]
    answer(module(), "get_amp_supported_dtype", every)


UNSCALE = "_amp_foreach_non_finite_check_and_unscale_"


@mutant("infinities_are_not_found", "AMP-506 AMP-507", "a gradient without end counts as finite")
def _() -> None:
    def unscale(original: Any, gradients: Any, found: torch.Tensor, scale: torch.Tensor) -> None:
        original(gradients, found, scale)
        found.zero_()

    around(UNSCALE, unscale)


@mutant("the_latest_list_alone_is_found", "AMP-507", "what an earlier list had is forgotten",
        narrow=True, tests="stays_found")  # fmt: skip
def _() -> None:
    def unscale(original: Any, gradients: Any, found: torch.Tensor, scale: torch.Tensor) -> None:
        found.zero_()
        original(gradients, found, scale)

    around(UNSCALE, unscale)


@mutant("gradients_are_not_unscaled", "AMP-506 AMP-507", "gradients keep their scale")
def _() -> None:
    def unscale(original: Any, gradients: Any, found: torch.Tensor, scale: torch.Tensor) -> None:
        original([one.clone() for one in gradients], found, scale)

    around(UNSCALE, unscale)


@mutant("first_gradient_alone_is_unscaled", "AMP-507", "of a list the first one", narrow=True)
def _() -> None:
    around(UNSCALE, lambda run, gradients, *given: run(gradients[:1], *given))


@mutant("empty_list_cannot_be_unscaled", "AMP-507", "an empty list raises", narrow=True)
def _() -> None:
    def unscale(original: Any, gradients: Any, *given: Any) -> None:
        if not gradients:
            raise RuntimeError("no gradients")
        original(gradients, *given)

    around(UNSCALE, unscale)


@mutant("scale_is_not_updated", "AMP-506", "the scale stays", narrow=True)
def _() -> None:
    around("_amp_update_scale_", lambda _, scale, *given: scale)


@mutant("scale_grows_without_end", "AMP-506", "the scale becomes infinite", narrow=True,
        tests="stays_finite")  # fmt: skip
def _() -> None:
    def update(original: Any, scale: torch.Tensor, *given: Any) -> torch.Tensor:
        before = scale.item()
        original(scale, *given)
        return scale.fill_(math.inf) if before == 2.0**127 == scale.item() else scale

    around("_amp_update_scale_", update)


@mutant("autocast_cache_stays", "AMP-505", "casts of weights are used again after they changed")
def _() -> None:
    kept: dict[int, tuple[Any, torch.Tensor]] = {}

    def multiply(original: Any, left: torch.Tensor, right: torch.Tensor) -> Any:
        for one in (left, right):
            known = kept.get(id(one))
            if one.is_leaf and one.requires_grad and (known is None or known[0]() is not one):
                kept[id(one)] = weakref.ref(one), one.detach().half()
        left, right = (kept[id(one)][1] if id(one) in kept else one for one in (left, right))
        return original(left, right)

    around("mm", multiply, key=AUTOCAST)


@mutant("autocast_ignores_enabled", "AMP-505", "enabled=False changes nothing")
def _() -> None:
    before = torch.autocast.__init__

    def begin(self: Any, device_type: str, *given: Any, **named: Any) -> None:
        before(self, device_type, *given, **{**named, "enabled": True})

    torch.autocast.__init__ = begin  # type: ignore[method-assign]
