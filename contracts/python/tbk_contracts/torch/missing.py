# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators that a device lacks, as PyTorch and its devices say it.

A device need not have every operator, and a test may stand on some of which its clause does not
speak. Where a test ends by such a lack, it has shown nothing, and names the operator.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from tbk_contracts.torch import check, host

# Each names the operator in its first group. Those above the line come as a RuntimeError, too.
_SURE = (
    re.compile(r"Could not run '(\w+::[\w.]+)'"),
    re.compile(r"[Tt]he operator '?(\w+::[\w.]+)'?"),
    re.compile(r"for schema (\w+::[\w.]+)"),
    re.compile(r"no kernel (?:of|for) '?(\w+::[\w.]+)"),
    re.compile(r"\"(\w+)\" not implemented for '"),
    re.compile(r"\b(\w+::[\w.]+)\b.{0,60}\bnot (?:\w+ )?(?:implemented|supported)\b"),
)
_LIKELY = (
    re.compile(r"derivative for '?((?:\w+::)?[\w.]+)'? is not implemented"),
    re.compile(r"['\"`]?((?:\w+::)?\w+(?:\.\w+)?)['\"`]?(?:\(\))?:? (?:is |are |has )?"
               r"not (?:\w+ )?(?:implemented|supported)\b"),
    re.compile(r"\b(\w+::[\w.]+)"),
)  # fmt: skip
_SUFFIX = re.compile(r"(?:_(?:stub|kernel|impl|out|cpu|cuda|mps|xpu|npu))+$")
# What has none of these is no device: a test that ends by their lack has failed.
BASIC = frozenset({"empty", "empty_strided", "copy_", "_copy_from", "_to_copy"})


@functools.cache
def _all_operators() -> frozenset[str]:
    names = torch._C._dispatch_get_all_op_names()
    return frozenset(_base(name) for name in names)


def _base(name: str) -> str:
    """add of aten::add.out"""
    return name.rpartition("::")[2].partition(".")[0]


def _known(name: str) -> bool:
    base = _base(name)
    return "::" in name or base in _all_operators() or _SUFFIX.sub("", base) in _all_operators()


def operator(error: BaseException) -> str:
    """Returns the operator that `error` says is missing, such as "aten::add.out"; empty where it
    tells of no such thing, or names none."""
    if not isinstance(error, RuntimeError):  # NotImplementedError is one
        return ""
    text = " ".join(str(error).split())
    forms = (*_SURE, *_LIKELY) if isinstance(error, NotImplementedError) else _SURE
    for form in forms:
        for found in form.finditer(text):
            name = found[1].rstrip(".")
            if _known(name):
                return name if "::" in name else f"aten::{_SUFFIX.sub('', name)}"
    return ""


def lacking(error: BaseException) -> bool:
    """Returns whether `error` says that the device does not offer something."""
    return isinstance(error, NotImplementedError) or bool(operator(error) or kernel(error))


_DTYPES = {
    "float64": "float64|Double", "float16": "float16|Half", "bfloat16": "bfloat16|BFloat16",
    "complex64": "complex64|ComplexFloat", "complex128": "complex128|ComplexDouble",
    "int8": "int8|Char", "int16": "int16|Short", "int32": "int32|Int", "int64": "int64|Long",
    "uint8": "uint8|Byte",
    "bool": "bool|Bool",
}  # fmt: skip


# Python asks an operand after the other, and then says nothing of the TypeError that was raised.
_HIDDEN = re.compile(
    r"not supported between instances of 'Tensor'|unsupported operand type.*'Tensor'"
)


def dtype(error: BaseException, device: torch.device | None) -> str:
    """Returns the dtype of which `error` speaks, where the device has none of it; else empty."""
    if device is None or not isinstance(error, (RuntimeError, TypeError)):
        return ""
    text = " ".join(str(error).split())
    for name, words in _DTYPES.items():
        said = re.search(rf"(?<![A-Za-z0-9])(?:torch\.)?(?:{words})(?![A-Za-z0-9])", text)
        if (said or _HIDDEN.search(text)) and not host.goes_round(getattr(torch, name), device):
            return name
    return ""


# Of an operator that they name as their library does, some say for which dtype they lack it.
_OF_A_DTYPE = re.compile(
    rf"not (?:\w+ )?(?:implemented|supported) (?:for|by|with|on) '?(?:torch\.)?"
    rf"(DT_\w+|{'|'.join(_DTYPES.values())})\b"
    r"|\b([dD](?:ata ?)?types?) (?:support|supported) list\b"
)


def kernel(error: BaseException) -> str:
    """Returns the dtype for which `error` says that an operator is not there; else empty."""
    if not isinstance(error, RuntimeError):
        return ""
    found = _OF_A_DTYPE.search(" ".join(str(error).split()))
    return (found[1] or found[2]) if found else ""


@contextmanager
def of(device: torch.device | None) -> Iterator[None]:
    """The test inside is about `device`."""
    _device.append(device)
    try:
        yield
    finally:
        _device.pop()


_device: list[torch.device | None] = []


def lacked(error: BaseException) -> str:
    """Returns what a test that ends by `error` stands on and the device lacks: "aten::add.out",
    "tensors of float64" or "kernel for DT_INT32"; empty where it has failed.

    What PyTorch says of features that are neither, such as streams, is for capabilities.
    """
    if isinstance(error, AssertionError):
        return ""
    kind = dtype(error, _device[-1] if _device else None)
    if kind:
        return f"tensors of {kind}"
    name = operator(error)
    of_host = "from the 'CPU' backend" in str(error)
    if of_host or _base(name) in BASIC:
        return ""
    lacks = kernel(error)
    return name or (f"kernel for {lacks}" if lacks else "")


def excused(error: BaseException) -> bool:
    """Returns whether such a test has shown nothing, instead of failing; then it is told."""
    what = lacked(error)
    if what.startswith(("tensors ", "kernel ")):
        check.should("a dtype that the test stands on", True, expected="", seen="")
        check.evidence(check.NOT_SHOWN, f"the device has no {what}")
    elif what:
        tell(what)
    return bool(what)


def tell(name: str, waiting: int = 1) -> None:
    """Says that the test ends for want of the operator `name`, and how many checks wait for it."""
    check.should("an operator that the test stands on", bool(name),
                 expected="the exception names it", seen="no operator is named")  # fmt: skip
    check.fact(missing=[name] if name else [], waiting=waiting)
    check.evidence(check.NOT_SHOWN, f"the device does not offer {name or 'an operator'}")
