# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""How the argument struct of an operator is laid out: the rule of tbk_aten.h, of a PyTorch schema.

Every member has 8 bytes, or is a struct of such. First comes struct_size, then the arguments in the
order of the schema, then what is returned and is no argument.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

# PyTorch's type: the C type, and the kind by which the compiled part appends it.
_TYPES = {
    "Tensor": ("const tbk_tensor_t*", "input"),
    "Tensor?": ("const tbk_tensor_t*", "input"),
    "Tensor[]": ("tbk_tensor_list_t", "inputs"),
    "Tensor?[]": ("tbk_tensor_list_t", "inputs"),
    "int": ("int64_t", "int"),
    "SymInt": ("int64_t", "int"),
    "bool": ("int64_t", "int"),
    "ScalarType": ("int64_t", "dtype"),
    "float": ("double", "double"),
    "Scalar": ("tbk_scalar_t", "scalar"),
    "number": ("tbk_scalar_t", "scalar"),
    "str": ("const char*", "text"),
    "int?": ("const int64_t*", "int pointer"),
    "SymInt?": ("const int64_t*", "int pointer"),
    "bool?": ("const int64_t*", "int pointer"),
    "ScalarType?": ("const int64_t*", "dtype pointer"),
    "float?": ("const double*", "double pointer"),
    "Scalar?": ("const tbk_scalar_t*", "scalar pointer"),
    "number?": ("const tbk_scalar_t*", "scalar pointer"),
    "int[]": ("tbk_int_list_t", "ints"),
    "SymInt[]": ("tbk_int_list_t", "ints"),
    "float[]": ("tbk_double_list_t", "doubles"),
    "bool[]": ("tbk_bool_list_t", "bools"),
}
_RESERVED = {"auto", "default", "double", "float", "int", "register", "signed", "this", "operator"}


class TypeNotCarriedError(ValueError):
    """A schema has a type that no argument struct carries."""


@dataclass(frozen=True)
class Member:
    """A member of the struct. `name` is C's, `argument` the schema's (a return has its own name);
    `is_written` holds for what the operator writes, `is_return` for what it makes.
    """

    name: str
    argument: str
    c_type: str
    kind: str
    is_written: bool = False
    is_return: bool = False


def members(schema: torch.FunctionSchema) -> tuple[Member, ...]:
    """Returns the members for a schema, without struct_size. Raises TypeNotCarriedError."""
    made = [_of_argument(argument) for argument in schema.arguments]
    taken = {member.name for member in made}
    fresh = [one for one in schema.returns if one.alias_info is None]
    for index, one in enumerate(fresh):
        if str(one.type) != "Tensor":
            raise TypeNotCarriedError(f"returns {spelled(one)}: an operator returns tensors")
        argument = one.name or ("out" if len(fresh) == 1 else f"out{index}")
        name = _c_name(argument)
        name = f"out_{name}" if name in taken else name
        c_type = _TYPES["Tensor"][0]
        made.append(Member(name, argument, c_type, "output", is_written=True, is_return=True))
    return tuple(made)


def _of_argument(argument: torch.Argument) -> Member:
    word = spelled(argument)
    if word not in _TYPES:
        raise TypeNotCarriedError(f"{argument.name} is a {word}, which no argument struct carries")
    c_type, kind = _TYPES[word]
    is_written = argument.alias_info is not None and argument.alias_info.is_write
    if is_written and word != "Tensor":
        raise TypeNotCarriedError(f"{argument.name} is a {word}; what is written is a Tensor")
    name = _c_name(argument.name)
    return Member(name, argument.name, c_type, "output" if is_written else kind, is_written)


def _c_name(name: str) -> str:
    return name + "_" if name in _RESERVED else name


def spelled(argument: torch.Argument) -> str:
    """Returns a type as a schema writes it, without the length of a list; ScalarType, which
    PyTorch's parser takes for an int, by what it calls its real type.
    """
    return _spelled(argument.real_type if hasattr(argument, "real_type") else argument.type)


def _spelled(found: torch._C.JitType) -> str:
    kind = found.kind()
    if kind == "OptionalType":
        return _spelled(found.getElementType()) + "?"
    if kind == "ListType":
        return _spelled(found.getElementType()) + "[]"
    return str(found)
