# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that what a file gives for an argument, as a sample or a default, is of its type."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from torch_tbk.custom.formula import dtypes, known
from torch_tbk.custom.members import spelled
from torch_tbk.custom.near import meant

_KEYS = ("shape", "dtype", "low", "high")  # of a tensor that is more than its shape
_MOST_ELEMENTS = 2**26  # of all tensors of a sample, each of which is copied a few times
_INTEGERS = range(-(2**63), 2**63)
_CALLED = {"SymInt": "int", "number": "number", "Scalar": "number", "ScalarType": "dtype"}
Fault = tuple[tuple[str | int, ...], str]  # where, below the argument; what


def fault_of_sample(argument: torch.Argument, value: object) -> Fault | None:
    """Returns what is wrong with the value of a sample; None where nothing is."""
    return _fault(spelled(argument), value, _fills(argument))


def fault_of_schema(schema: torch.FunctionSchema) -> str:
    """Returns what is wrong with arguments that PyTorch's parser takes; empty where nothing is."""
    if re.search(r"(\(|, )\.\.\.\)", str(schema)):
        return "an operator names all its arguments and results, without ..."
    names = [one.name for one in schema.arguments]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        return f"two arguments are called {twice}"
    return next(filter(None, map(fault_of_default, schema.arguments)), "")


def fault_of_size(arguments: Sequence[torch.Argument], sample: Mapping[str, Any]) -> str:
    """Returns that a sample is too large for the checks; empty where it is not. The values are of
    their types."""
    count = sum(_elements(spelled(one), sample.get(one.name)) for one in arguments)
    if count <= _MOST_ELEMENTS:
        return ""
    return f"{count} elements; a sample has {_MOST_ELEMENTS} at most"


def _elements(word: str, value: Any) -> int:
    if value is None or not word.startswith("Tensor"):
        return 0
    if word.endswith("?"):
        return _elements(word[:-1], value)
    if word.endswith("[]"):
        return sum(_elements(word[:-2], one) for one in value)
    return math.prod(value["shape"] if isinstance(value, dict) else value)


def fault_of_default(argument: torch.Argument) -> str:
    """Returns what is wrong with a default, which PyTorch's parser does not look at; empty where
    nothing is."""
    word = spelled(argument)
    if not argument.has_default_value() or "ScalarType" in word or "Tensor" in word:
        return ""
    found = _fault(word, argument.default_value, _fills(argument))
    return f"the default of {argument.name}: {found[1]}" if found else ""


def _fills(argument: torch.Argument) -> bool:
    """Returns whether one number stands for a list of so many, as in int[2]."""
    return getattr(argument, "N", None) is not None


def _fault(word: str, value: object, fills: bool) -> Fault | None:
    if word.endswith("?"):
        return None if value is None else _fault(word[:-1], value, fills)
    if not word.endswith("[]"):
        return _fault_of_tensor(value) if word == "Tensor" else _fault_of_one(word, value)
    if isinstance(value, (list, tuple)):
        found = ((at, _fault(word[:-2], one, False)) for at, one in enumerate(value))
        return next((((at, *fault[0]), fault[1]) for at, fault in found if fault), None)
    return _fault(word[:-2], value, False) if fills else ((), f"{value!r} is no list: {word}")


def _fault_of_one(word: str, value: object) -> Fault | None:
    called = _CALLED.get(word, word)
    fits = {
        "int": type(value) is int,
        "bool": isinstance(value, bool),
        "float": isinstance(value, (int, float)) and not isinstance(value, bool),
        "number": isinstance(value, (int, float, complex)),
        "str": isinstance(value, str),
        "dtype": isinstance(value, str) and isinstance(known(value), torch.dtype),
    }
    if not fits[called]:
        return (), f"{value!r} is no {called}"
    too_large = called in ("int", "number") and type(value) is int and value not in _INTEGERS
    return ((), f"{value!r} is beyond 64 bits") if too_large else None


def _fault_of_tensor(value: object) -> Fault | None:
    rule: Mapping[str, Any] = value if isinstance(value, dict) else {"shape": value}
    if unknown := sorted(str(key) for key in rule if key not in _KEYS):
        more = meant(unknown[0], _KEYS) or f"; there are {', '.join(sorted(_KEYS))}"
        return (unknown[0],), f"unknown key {unknown[0]!r}{more}"
    if "dtype" in rule and (found := _fault_of_one("ScalarType", rule["dtype"])):
        more = meant(str(rule["dtype"]), dtypes())
        return ("dtype",), f"{rule['dtype']!r} is no dtype of PyTorch{more}"
    shape = rule.get("shape")
    if isinstance(value, dict) and shape is None:
        return (), "a tensor has a `shape`"
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        return (), f"a shape is a list of sizes, not {shape!r}"
    for key in ("low", "high"):
        if found := _fault_of_one("float", rule.get(key, 0)):
            return (key,), found[1]
    return _fault_of_range(rule)


def _fault_of_range(rule: Mapping[str, Any]) -> Fault | None:
    """Numbers are drawn from `low` to `high`, whole ones without the latter."""
    if not ("low" in rule or "high" in rule):
        return None
    low, high = rule.get("low", -2), rule.get("high", 2)
    dtype = known(str(rule.get("dtype", "float32")))
    is_whole = not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)
    if low <= high and not (is_whole and int(low) == int(high)):
        return None
    return ("high" if "high" in rule else "low",), f"nothing lies from {low} to {high}"
