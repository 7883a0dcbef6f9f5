# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Operators as a YAML file describes them, read and checked; nothing is registered yet."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from torch_tbk.custom.form import check_form, hint, unreadable
from torch_tbk.custom.formula import Formula, FormulaError, dtypes, known
from torch_tbk.custom.given import fault_of_sample, fault_of_schema, fault_of_size
from torch_tbk.custom.lines import Document, OperatorsError, counted, read_document
from torch_tbk.custom.members import Member, TypeNotCarriedError, members, spelled
from torch_tbk.custom.near import meant

_KEPT_NAMESPACES = frozenset({"aten", "prim", "prims", "tbk", "torch", "quantized", "c10d"})
NEEDED = "needed"  # in `arguments` of backward: which gradients are wanted


@dataclass(frozen=True)
class Output:
    """The rule for what an operator makes: like an argument, but for what is said besides.

    Without `like` there are `shape` and `dtype`. Where `when` gives false there is no such output:
    the kernel gets NULL, and the caller a tensor without elements.
    """

    like: str | None
    shape: tuple[Formula, ...] | None
    dtype: torch.dtype | tuple[str, ...] | None
    when: Formula | None


@dataclass(frozen=True)
class Backward:
    """How the gradients are computed: by formulas, or by another operator of the namespace.

    `gives` are the arguments that have the results of `operator` as gradients, in its order.
    """

    gradients: Mapping[str, Formula] = field(default_factory=dict)
    operator: str | None = None
    arguments: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operator:
    """An operator, as one entry of a file describes it."""

    namespace: str
    schema: torch.FunctionSchema
    definition: str  # the schema without the namespace, as torch.library takes it
    where: str  # file:line
    formula: Formula
    members: tuple[Member, ...]
    outputs: tuple[Output, ...] | None
    kernel: str | None
    version: int
    backward: Backward | None
    not_differentiable: frozenset[str]
    autocast: str | None
    dtypes: tuple[torch.dtype, ...]
    tolerance: Mapping[torch.dtype, tuple[float, float]]
    samples: tuple[Mapping[str, Any], ...]

    @property
    def name(self) -> str:
        """Returns its name without the namespace, with the overload where it has one."""
        own = self.schema.name.partition("::")[2]
        return f"{own}.{self.schema.overload_name}" if self.schema.overload_name else own

    @property
    def full_name(self) -> str:
        """Returns acme::name."""
        return f"{self.namespace}::{self.name}"

    @property
    def written(self) -> tuple[str, ...]:
        """Returns the arguments that it writes."""
        return tuple(one.argument for one in self.members if one.is_written and not one.is_return)

    @property
    def returned(self) -> tuple[str, ...]:
        """Returns the names of what it makes: those of the schema, `out`, or `out0`, `out1`, ..."""
        return tuple(one.argument for one in self.members if one.is_return)

    @property
    def is_view(self) -> bool:
        """Returns whether the schema says that a result is a view of an argument."""
        return any(one.alias_info is not None for one in self.schema.returns)

    @property
    def tensors(self) -> tuple[str, ...]:
        """Returns the arguments that are a tensor."""
        return _tensors(self.schema)

    @property
    def lists(self) -> tuple[str, ...]:
        """Returns the arguments that are a list of tensors."""
        return tuple(one.argument for one in self.members if one.kind == "inputs")


def _tensors(schema: torch.FunctionSchema) -> tuple[str, ...]:
    found = schema.arguments
    return tuple(one.name for one in found if spelled(one) in ("Tensor", "Tensor?"))


def read_operators(path: Path) -> list[Operator]:
    """Returns the operators of a file. Raises OperatorsError: one line, with file and line."""
    document = read_document(path)
    check_form(document)
    namespace = document.value["namespace"]
    if namespace in _KEPT_NAMESPACES:
        raise document.error(["namespace"], f"{namespace} is kept by PyTorch; take your own name")
    reader = _Reader(document, namespace)
    found = [reader.read(index) for index in range(len(document.value["operators"]))]
    _check_together(document, found)
    return found


def _check_together(document: Document, found: Sequence[Operator]) -> None:
    """Raises for what only several operators together can get wrong."""
    seen: dict[str, Operator] = {}
    for index, one in enumerate(found):
        path: list[str | int] = ["operators", index, "schema"]
        if one.name in seen:
            raise document.error(path, f"{one.full_name} stands in {seen[one.name].where} already")
        seen[one.name] = one
    for index, one in enumerate(found):
        if one.backward is None or one.backward.operator is None:
            continue
        path = ["operators", index, "backward", "operator"]
        if one.backward.operator not in seen:
            said = f"no operator of this file is called {one.backward.operator!r}"
            raise document.error(path, said + hint(one.backward.operator, seen))
        other = seen[one.backward.operator]
        if len(other.returned) != len(one.backward.gives):
            raise document.error(
                [*path[:-1], "gives"],
                f"{other.name} returns {counted(len(other.returned), 'tensor')}, and gives names "
                f"{len(one.backward.gives)}",
            )
        if len(other.schema.arguments) != len(one.backward.arguments):
            raise document.error(
                [*path[:-1], "arguments"],
                f"{other.name} takes {counted(len(other.schema.arguments), 'argument')}, and "
                f"here are {len(one.backward.arguments)}",
            )


class _Reader:
    """Reads entries of one file."""

    def __init__(self, document: Document, namespace: str) -> None:
        self._document = document
        self._namespace = namespace
        self._path: list[str | int] = []
        self._entry: dict[str, Any] = {}
        self._tensors: tuple[str, ...] = ()

    def read(self, index: int) -> Operator:
        """Returns the operator of an entry."""
        self._path = ["operators", index]
        self._entry = self._document.value["operators"][index]
        schema = self._schema()
        found = self._members(schema)
        self._tensors = _tensors(schema)
        names = [argument.name for argument in schema.arguments]
        kernel = self._entry.get("kernel", {})
        dtypes = self._entry.get("dtypes", ["float32"])
        tolerance = self._entry.get("tolerance", {})
        operator = Operator(
            namespace=self._namespace,
            schema=schema,
            definition=str(self._entry["schema"]).strip(),
            where=self._document.where([*self._path, "schema"]),
            formula=self._formula(self._entry["formula"], names, "formula"),
            members=found,
            outputs=self._outputs(names),
            kernel=kernel.get("name"),
            version=kernel.get("version", 1),
            backward=None,
            not_differentiable=frozenset(),
            autocast=self._entry.get("autocast"),
            dtypes=tuple(self._dtype(one, "dtypes", i) for i, one in enumerate(dtypes)),
            tolerance={self._dtype(one, "tolerance", one): (float(pair[0]), float(pair[1]))
                       for one, pair in tolerance.items()},
            samples=(),
        )  # fmt: skip
        self._check(operator)
        backward, opaque = self._backward(operator)
        return Operator(**{
            **vars(operator), "backward": backward, "not_differentiable": opaque,
            "samples": self._samples(operator),
        })  # fmt: skip

    def _error(self, *place_and_text: str | int) -> OperatorsError:
        *place, text = place_and_text
        return self._document.error([*self._path, *place], str(text))

    def _schema(self) -> torch.FunctionSchema:
        text = str(self._entry["schema"]).strip()
        if "::" in text.partition("(")[0]:
            raise self._error("schema", f"write it without {text.partition('::')[0]}::")
        try:
            found = torch._C.parse_schema(f"{self._namespace}::{text}")
        except (RuntimeError, IndexError) as error:
            said = f"PyTorch can't read {text!r}: {unreadable(error)}"
            raise self._error("schema", said) from None
        if said := fault_of_schema(found):
            raise self._error("schema", said)
        return found

    def _members(self, schema: torch.FunctionSchema) -> tuple[Member, ...]:
        try:
            return members(schema)
        except TypeNotCarriedError as error:
            raise self._error("schema", str(error)) from None

    def _formula(self, text: object, names: Collection[str], *place: str | int) -> Formula:
        try:
            return Formula(str(text), names)
        except FormulaError as error:
            raise self._error(*place, str(error)) from None

    def _dtype(self, name: str, *place: str | int) -> torch.dtype:
        found = known(name)
        if not isinstance(found, torch.dtype):
            raise self._error(*place, f"{name!r} is no dtype of PyTorch{meant(name, dtypes())}")
        return found

    def _outputs(self, names: Sequence[str]) -> tuple[Output, ...] | None:
        rules = self._entry.get("outputs")
        if rules is None:
            return None
        return tuple(self._output(rule, index, names) for index, rule in enumerate(rules))

    def _output(self, rule: Mapping[str, Any], index: int, names: Sequence[str]) -> Output:
        place = ("outputs", index)
        like, shape, dtype = rule.get("like"), rule.get("shape"), rule.get("dtype")
        if like is None and (shape is None or dtype is None):
            raise self._error(*place, "an output has `like`, or `shape` and `dtype`")
        self._known_names([like] if like else [], names, *place, "like")
        if like and like not in self._tensors:
            raise self._error(*place, "like", f"an output is like a tensor, and {like} is none")
        if isinstance(dtype, list):
            self._known_names(dtype, names, *place, "dtype")
        formulas = None if shape is None else tuple(
            self._formula(one, names, *place, "shape", i) for i, one in enumerate(shape)
        )  # fmt: skip
        when = rule.get("when")
        return Output(
            like,
            formulas,
            tuple(dtype) if isinstance(dtype, list)
            else None if dtype is None else self._dtype(dtype, *place, "dtype"),
            None if when is None else self._formula(when, names, *place, "when"),
        )  # fmt: skip

    def _known_names(self, found: Sequence[str], names: Collection[str], *place: str | int) -> None:
        for name in found:
            if name not in names:
                raise self._error(*place, f"no argument is called {name!r}{hint(name, names)}")

    def _check(self, one: Operator) -> None:
        """Raises for what does not go together."""
        if not one.tensors and not one.lists:
            raise self._error("schema", "an operator takes a tensor, which says the device")
        if one.is_view:
            for key in ("kernel", "backward", "outputs", "autocast"):
                if key in self._entry:
                    said = f"a view is made of PyTorch's own views, by its formula: no {key}"
                    raise self._error(key, said)
            if one.written:
                raise self._error("schema", "what is written is not returned: write -> ()")
        elif one.written and one.returned:
            raise self._error("schema", "an operator writes an argument, or returns tensors")
        elif not one.written and not one.returned:
            raise self._error("schema", "an operator writes an argument (a!), or returns tensors")
        elif one.returned and (name := _by_keyword(one.schema)):
            said = f"{name} is a tensor that is given by keyword alone, through which PyTorch takes"
            raise self._error("schema", f"{said} no gradient: write it before the *")
        if one.outputs is not None and len(one.outputs) != len(one.returned):
            said = f"{counted(len(one.outputs), 'rule')} for {counted(len(one.returned), 'result')}"
            raise self._error("outputs", said)
        if one.written and "autocast" in self._entry:
            raise self._error("autocast", "a cast would be written, and not the argument")

    def _backward(self, one: Operator) -> tuple[Backward | None, frozenset[str]]:
        entry = self._entry.get("backward")
        if entry is None:
            return None, frozenset()
        if one.written:
            raise self._error("backward", "an operator that writes an argument has no backward")
        opaque = frozenset(entry.get("not_differentiable", []))
        there = [*one.tensors, *one.lists]
        self._known_names(sorted(opaque), there, "backward", "not_differentiable")
        by_operator = "operator" in entry
        if by_operator == ("gradients" in entry):
            raise self._error("backward", "it has `gradients`, or `operator`: one of them")
        found = self._by_operator(one, entry) if by_operator else self._by_formulas(one, entry)
        given = {*found.gradients, *found.gives, *opaque}
        for name in one.tensors:
            if name not in given:
                said = f"it says nothing of {name}: give its gradient, or add it to"
                raise self._error("backward", f"{said} `not_differentiable`")
        for name in one.lists:
            if name not in opaque:
                said = f"{name} is a list of tensors, which has no gradient: add it to"
                raise self._error("backward", f"{said} `not_differentiable`")
        return found, opaque

    def _by_formulas(self, one: Operator, entry: Mapping[str, Any]) -> Backward:
        for key in ("arguments", "gives"):
            if key in entry:
                raise self._error("backward", key, f"`{key}` belongs to `operator`")
        names = backward_names(one)
        place = ("backward", "gradients")
        self._differentiable(one, list(entry["gradients"]), *place)
        return Backward({
            name: self._formula(text, names, *place, name)
            for name, text in entry["gradients"].items()
        })  # fmt: skip

    def _by_operator(self, one: Operator, entry: Mapping[str, Any]) -> Backward:
        for key in ("arguments", "gives"):
            if key not in entry:
                raise self._error("backward", f"`operator` needs `{key}`")
        self._differentiable(one, entry["gives"], "backward", "gives")
        there = [*backward_names(one), NEEDED]
        self._known_names(entry["arguments"], there, "backward", "arguments")
        return Backward(
            {}, str(entry["operator"]), tuple(entry["arguments"]), tuple(entry["gives"])
        )  # fmt: skip

    def _differentiable(self, one: Operator, found: Sequence[str], *place: str) -> None:
        """Raises for what no gradient can be described of."""
        for argument in one.schema.arguments:
            if argument.name in found and argument.name not in one.tensors:
                word = spelled(argument)
                said = f"{argument.name} is a {word}: a gradient is described of a tensor alone"
                raise self._error(*place, said)
        self._known_names(found, one.tensors, *place)

    def _samples(self, one: Operator) -> tuple[Mapping[str, Any], ...]:
        samples = self._entry["samples"]
        for index, sample in enumerate(samples):
            names = [argument.name for argument in one.schema.arguments]
            self._known_names(list(sample), names, "samples", index)
            for argument in one.schema.arguments:
                is_optional = argument.has_default_value() or str(argument.type).startswith("Opt")
                if argument.name not in sample and not is_optional:
                    raise self._error("samples", index, f"it has no {argument.name}")
                self._check_given(argument, sample, index)
            if said := fault_of_size(one.schema.arguments, sample):
                raise self._error("samples", index, said)
        return tuple(samples)

    def _check_given(self, argument: torch.Argument, sample: Mapping[str, Any], index: int) -> None:
        if argument.name not in sample:
            return
        if found := fault_of_sample(argument, sample[argument.name]):
            place = ("samples", index, argument.name, *found[0])
            raise self._error(*place, f"{argument.name}: {found[1]}")


def _by_keyword(schema: torch.FunctionSchema) -> str:
    """Returns a tensor, or list of such, that is given by keyword alone; empty without one."""
    named = (one.name for one in schema.arguments if one.kwarg_only and "Tensor" in spelled(one))
    return next(named, "")


def backward_names(one: Operator) -> list[str]:
    """Returns what a backward may name: arguments, results, and the gradient of each result."""
    arguments = [argument.name for argument in one.schema.arguments]
    return [*arguments, *one.returned, *gradient_names(one)]


def gradient_names(one: Operator) -> list[str]:
    """Returns the names of the gradients that come in: `grad`, or `grad_NAME` of several."""
    if len(one.returned) == 1:
        return ["grad"]
    return [f"grad_{name}" for name in one.returned]
