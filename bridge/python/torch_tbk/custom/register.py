# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Makes operators of a file known to PyTorch, as torch.ops.<namespace>.<name>."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from torch_tbk.custom.lines import OperatorsError
from torch_tbk.custom.spec import NEEDED, Operator, gradient_names, read_operators
from torch_tbk.custom.values import (
    Values,
    absent,
    bind,
    by_formula,
    by_kernel,
    made_by_rules,
    on_device,
    tensors_of,
)

# By namespace; a Library takes its operators away when nothing holds it any more.
_libraries: dict[str, torch.library.Library] = {}
_texts: dict[Path, str] = {}
_registered: dict[str, Operator] = {}
_AUTOCAST_KEYS = {"AutocastPrivateUse1": "", "AutocastCPU": "cpu"}


def register_file(path: Path) -> list[Operator]:
    """Registers the operators of a file; the same file again does nothing.

    Nothing is registered where anything in the file is wrong.

    Returns:
        The operators of the file.

    Raises:
        OperatorsError: the file says what it can't say, or another one has the operator already.
    """
    path = path.resolve()
    operators = read_operators(path)
    text = path.read_text(encoding="utf-8")
    if path in _texts:
        if _texts[path] != text:
            raise OperatorsError(f"{path}:1: it was loaded before, and has changed since")
        return operators
    for one in operators:
        _check_free(one)
    for one in operators:
        _register(one)
        _registered[one.full_name] = one
    _texts[path] = text
    return operators


def registered() -> Mapping[str, Operator]:
    """Returns the operators of all files so far, by full name."""
    return dict(_registered)


def _check_free(one: Operator) -> None:
    if one.full_name in _registered:
        there = _registered[one.full_name].where
        raise OperatorsError(f"{one.where}: {one.full_name} was loaded from {there}")
    there_are = torch._C._jit_get_schemas_for_operator(one.schema.name)
    if any(schema.overload_name == one.schema.overload_name for schema in there_are):
        raise OperatorsError(f"{one.where}: PyTorch has an operator {one.full_name} already")


def _register(one: Operator) -> None:
    library = _libraries.get(one.namespace)
    if library is None:
        library = _libraries[one.namespace] = torch.library.Library(one.namespace, "FRAGMENT")
    if one.is_view:
        library.define(one.definition, tags=(torch.Tag.pt2_compliant_tag,))
        library.impl(one.name, _view_of(one), "CompositeImplicitAutograd")
        return
    library.define(one.definition, tags=(torch.Tag.pt2_compliant_tag,))
    library.impl(one.name, _computation(one), "CompositeExplicitAutograd")
    torch.library.register_fake(one.full_name, _shapes(one), lib=library)
    if one.written:
        _register_writing(one, library)
    else:
        torch.library.register_autograd(
            one.full_name, _backward(one), setup_context=_setup(one), lib=library
        )
    if one.autocast is not None:
        for key, device_type in _AUTOCAST_KEYS.items():
            library.impl(one.name, _autocast(one, key, device_type), key)


def overload_of(one: Operator) -> torch._ops.OpOverload:
    """Returns the operator as PyTorch has it. It is registered."""
    packet = getattr(getattr(torch.ops, one.namespace), one.name.partition(".")[0])
    found: torch._ops.OpOverload = getattr(packet, one.schema.overload_name or "default")
    return found


def _returned(one: Operator, results: Sequence[torch.Tensor]) -> Any:
    if one.written:
        return None
    return results[0] if len(results) == 1 else tuple(results)


def _view_of(one: Operator) -> Callable[..., Any]:
    def view(*arguments: Any, **keywords: Any) -> Any:
        return one.formula(bind(one, arguments, keywords))

    return view


def _computation(one: Operator) -> Callable[..., Any]:
    def compute(*arguments: Any, **keywords: Any) -> Any:
        values = bind(one, arguments, keywords)
        results = by_kernel(one, values) if on_device(values) else None
        if results is None:
            results = by_formula(one, values)
            for name, result in zip(one.written, results, strict=False):
                values[name].copy_(result)
        return _returned(one, results)

    return compute


def _shapes(one: Operator) -> Callable[..., Any]:
    def shapes(*arguments: Any, **keywords: Any) -> Any:
        values = bind(one, arguments, keywords)
        if one.written:
            return None
        if one.outputs is None:
            return _returned(one, by_formula(one, values))
        made = made_by_rules(one, values)
        return _returned(one, [absent(values) if tensor is None else tensor for tensor in made])

    return shapes


def _register_writing(one: Operator, library: torch.library.Library) -> None:
    """PyTorch makes no autograd for an operator that writes, nor counts its writes by itself."""

    def without_gradient(keyset: Any, *arguments: Any, **keywords: Any) -> None:
        tensors = tensors_of(bind(one, arguments, keywords))
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            raise NotImplementedError(
                f"{one.full_name} writes its arguments and has no gradient: call it under "
                f"torch.no_grad(), or on tensors that need none ({one.where})"
            )
        with torch._C._AutoDispatchBelowAutograd():
            overload_of(one).redispatch(
                keyset & torch._C._after_autograd_keyset, *arguments, **keywords
            )

    def counting(keyset: Any, *arguments: Any, **keywords: Any) -> None:
        values = bind(one, arguments, keywords)
        with torch._C._AutoDispatchBelowADInplaceOrView():
            overload_of(one).redispatch(
                keyset & torch._C._after_ADInplaceOrView_keyset, *arguments, **keywords
            )
        for name in one.written:
            torch.autograd.graph.increment_version(values[name])

    library.impl(one.name, without_gradient, "Autograd", with_keyset=True)
    library.impl(one.name, counting, "ADInplaceOrView", with_keyset=True)


def _kept(one: Operator) -> tuple[str, ...]:
    """Returns what is saved for backward: the arguments and results that it names."""
    if one.backward is None:
        return ()
    named = set(one.backward.arguments)
    for formula in one.backward.gradients.values():
        named |= formula.names
    return tuple(sorted(named - {NEEDED, *gradient_names(one)}))


def _setup(one: Operator) -> Callable[..., None]:
    kept = _kept(one)

    def setup(
        ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Mapping[str, Any] | None = None
    ) -> None:
        values = dict(bind(one, inputs, keyword_only_inputs or {}))
        results = output if isinstance(output, tuple) else (output,)
        values.update(zip(one.returned, results, strict=True))
        tensors = [name for name in kept if isinstance(values[name], torch.Tensor)]
        ctx.save_for_backward(*(values[name] for name in tensors))
        ctx.tbk_tensors = tensors
        ctx.tbk_others = {name: values[name] for name in kept if name not in tensors}

    return setup


def _backward(one: Operator) -> Callable[..., Any]:
    names = [argument.name for argument in one.schema.arguments]

    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        needs = dict(zip(names, ctx.needs_input_grad, strict=False))
        values = {**ctx.tbk_others, **dict(zip(ctx.tbk_tensors, ctx.saved_tensors, strict=True))}
        values.update(zip(gradient_names(one), grads, strict=True))
        found = _gradients(one, values, needs)
        return tuple(_given_back(found.get(name), needs[name]) for name in names if name in needs)

    return backward


def _given_back(gradient: torch.Tensor | None, needs: Any) -> Any:
    """Returns a gradient as PyTorch takes it: of a list, whose mask is one too, there is none."""
    return [None] * len(needs) if isinstance(needs, (list, tuple)) else gradient


def _gradients(
    one: Operator, values: dict[str, Any], needs: Mapping[str, bool]
) -> dict[str, torch.Tensor]:
    """Returns the gradients that are wanted. Raises NotImplementedError where none is described."""
    if one.backward is None:
        raise NotImplementedError(
            f"{one.full_name} has no backward ({one.where}): describe one there, or take no "
            f"gradient through it"
        )
    rule = one.backward
    # PyTorch says nothing of an argument that the call left out.
    if rule.operator is None:
        return {name: rule.gradients[name](values) for name in rule.gradients if needs.get(name)}
    values[NEEDED] = [bool(needs.get(name)) for name in rule.gives]
    other = overload_of(_registered[f"{one.namespace}::{rule.operator}"])
    keyword_only = [argument.name for argument in other._schema.arguments if argument.kwarg_only]
    given = [values[name] for name in rule.arguments]
    count = len(given) - len(keyword_only)
    results = other(*given[:count], **dict(zip(keyword_only, given[count:], strict=True)))
    results = results if isinstance(results, tuple) else (results,)
    return {name: one_of for name, one_of in zip(rule.gives, results, strict=True)
            if needs.get(name)}  # fmt: skip


def _autocast(one: Operator, key: str, device_type: str) -> Callable[..., Any]:
    def autocast(*arguments: Any, **keywords: Any) -> Any:
        values = bind(one, arguments, keywords)
        kind = device_type or torch._C._get_privateuse1_backend_name()
        dtype = _autocast_dtype(one, values, kind)
        keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return overload_of(one)(
                *(_cast(value, kind, dtype) for value in arguments),
                **{name: _cast(value, kind, dtype) for name, value in keywords.items()},
            )

    return autocast


def _autocast_dtype(one: Operator, values: Values, kind: str) -> torch.dtype:
    if one.autocast == "lower_precision":
        return torch.get_autocast_dtype(kind)
    if one.autocast == "float32":
        return torch.float32
    found = torch.get_autocast_dtype(kind)
    for tensor in tensors_of(values):
        if _is_cast(tensor, kind):
            found = torch.promote_types(found, tensor.dtype)
    return found


def _is_cast(value: object, kind: str) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.device.type == kind
        and value.is_floating_point()
        and value.dtype != torch.float64
    )


def _cast(value: Any, kind: str, dtype: torch.dtype) -> Any:
    if isinstance(value, (list, tuple)):
        return [_cast(one, kind, dtype) for one in value]
    return value.to(dtype) if _is_cast(value, kind) else value
