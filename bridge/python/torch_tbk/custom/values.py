# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a call of an operator makes: by the rules of its outputs, its formula, or a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from torch_tbk._binding import binding
from torch_tbk.custom.spec import Operator, Output

Values = Mapping[str, Any]
_PARTIAL_OVERLAP = "unsupported operation: more than one element of the written-to tensor refers"


def bind(operator: Operator, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Values:
    """Returns the arguments of a call by name; PyTorch leaves out those that have their default."""
    given = dict(zip((one.name for one in operator.schema.arguments), arguments, strict=False))
    given.update(keywords)
    for one in operator.schema.arguments:
        if one.name not in given:
            given[one.name] = one.default_value
    return given


def tensors_of(values: Values) -> list[torch.Tensor]:
    """Returns the tensors among arguments, those in lists too."""
    found = []
    for value in values.values():
        items = value if isinstance(value, (list, tuple)) else [value]
        found += [one for one in items if isinstance(one, torch.Tensor)]
    return found


def share_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Returns whether they have one storage."""
    found: bool = torch._C._is_alias_of(one, other)  # type: ignore[attr-defined]
    return found


def made_by_rules(operator: Operator, values: Values) -> list[torch.Tensor | None]:
    """Returns empty outputs as the rules want them; None where the operator makes none."""
    return [_made(operator, rule, values) for rule in operator.outputs or ()]


def _made(operator: Operator, rule: Output, values: Values) -> torch.Tensor | None:
    if rule.when is not None and not rule.when(values):
        return None
    for name in (rule.like, *(rule.dtype if isinstance(rule.dtype, tuple) else ())):
        if name is not None and values[name] is None:
            raise RuntimeError(
                f"{operator.full_name}: an output follows {name}, which is not given: say by `when`"
                f" that there is none then ({operator.where})"
            )
    like = None if rule.like is None else values[rule.like]
    dtype = rule.dtype
    if isinstance(dtype, tuple):
        dtype = torch.result_type(values[dtype[0]], values[dtype[-1]])
        for name in rule.dtype[1:-1] if isinstance(rule.dtype, tuple) else ():
            dtype = torch.promote_types(dtype, values[name].dtype)
    if rule.shape is None:
        return torch.empty_like(values[rule.like or ""], dtype=dtype)
    place = tensors_of(values)[0] if like is None else like
    shape = [one(values) for one in rule.shape]
    return torch.empty(shape, dtype=dtype or place.dtype, device=place.device)


def absent(values: Values) -> torch.Tensor:
    """Returns what a caller gets for an output that there is none of."""
    return torch.empty([0], device=tensors_of(values)[0].device)


class NoTensorError(RuntimeError):
    """A formula gives what is no tensor."""


def check_is_tensor(operator: Operator, result: object) -> None:
    """Raises for the result of a formula that is neither a tensor nor None: there is none."""
    if result is not None and not isinstance(result, torch.Tensor):
        raise NoTensorError(
            f"{operator.full_name}: the formula gives {result!r}, and not a tensor "
            f"({operator.where})"
        )


def by_formula(operator: Operator, values: Values) -> list[torch.Tensor]:
    """Returns what the formula computes, laid out as the rules want; no result is an argument."""
    found = operator.formula(values)
    results = list(found) if isinstance(found, (list, tuple)) else [found]
    count = len(operator.schema.returns) or len(operator.written)
    if len(results) != count:
        raise RuntimeError(
            f"{operator.full_name}: the formula gives {len(results)} results and the schema has "
            f"{count} ({operator.where})"
        )
    for result in results:
        check_is_tensor(operator, result)
    wanted: list[Any] = [None] * count
    if operator.outputs is not None:
        wanted = made_by_rules(operator, values)
    return [_laid_out(operator, values, *pair) for pair in zip(results, wanted, strict=True)]


def _laid_out(
    operator: Operator, values: Values, result: Any, wanted: torch.Tensor | None
) -> torch.Tensor:
    if result is None or (operator.outputs is not None and wanted is None):
        return absent(values)
    if wanted is None:
        return _own(result, values)
    if result.shape != wanted.shape or result.dtype != wanted.dtype:
        raise RuntimeError(
            f"{operator.full_name}: the formula gives {result.dtype} of {list(result.shape)}, and "
            f"the rule says {wanted.dtype} of {list(wanted.shape)} ({operator.where})"
        )
    return wanted.copy_(result)


def _own(result: torch.Tensor, values: Values) -> torch.Tensor:
    """Returns a tensor that shares no memory with an argument."""
    for tensor in tensors_of(values):
        if result is tensor or share_memory(result, tensor):
            return result.clone()
    return result


def by_kernel(operator: Operator, values: Values) -> list[torch.Tensor] | None:
    """Returns the outputs, which a kernel of the backend has written, or nothing of an operator
    that writes its arguments. None where there is no kernel, or it refused; nothing has happened.
    """
    if operator.kernel is None:
        return None
    used = _readable(operator, values)
    outputs = _outputs_for_kernel(operator, used)
    arguments = [
        (one.kind, outputs[one.argument] if one.is_return else used[one.argument])
        for one in operator.members
    ]
    if not binding.launch_custom(operator.kernel, operator.version, arguments):
        return None
    return [absent(values) if one is None else one for one in outputs.values()]


def _outputs_for_kernel(operator: Operator, values: Values) -> dict[str, torch.Tensor | None]:
    if operator.outputs is not None:
        made = made_by_rules(operator, values)
    else:  # the formula says, on tensors without memory
        found = operator.formula({name: _to_meta(value) for name, value in values.items()})
        results = list(found) if isinstance(found, (list, tuple)) else [found]
        device = tensors_of(values)[0].device
        made = [
            None if one is None else torch.empty_like(one, device=device) for one in results
        ]  # fmt: skip
    return dict(zip(operator.returned, made, strict=False))


def _to_meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to("meta")
    if isinstance(value, (list, tuple)):
        return [_to_meta(one) for one in value]
    return value


def _readable(operator: Operator, values: Values) -> dict[str, Any]:
    """Returns the arguments without lazy signs, and no input lying in part in what is written."""
    written = [values[name] for name in operator.written]
    for tensor in written:
        if torch._debug_has_internal_overlap(tensor) == 1:
            raise RuntimeError(f"{_PARTIAL_OVERLAP} to one memory location ({operator.full_name})")

    def settle(tensor: torch.Tensor) -> torch.Tensor:
        found = tensor.resolve_conj().resolve_neg()
        return found.clone() if any(_in_part(found, one) for one in written) else found

    def read(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [read(one) for one in value]
        return settle(value) if isinstance(value, torch.Tensor) else value

    return {
        name: value if name in operator.written else read(value) for name, value in values.items()
    }


def _in_part(tensor: torch.Tensor, written: torch.Tensor) -> bool:
    """Returns whether they may share memory, and are not the same elements in the same order."""
    if not share_memory(tensor, written):
        return False
    same = tensor.storage_offset() == written.storage_offset()
    return not (same and tensor.shape == written.shape and tensor.stride() == written.stride())


def on_device(values: Values) -> bool:
    """Returns whether all tensors are of the backend's device."""
    own = torch._C._get_privateuse1_backend_name()
    return all(one.device.type == own for one in tensors_of(values))
