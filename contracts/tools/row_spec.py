# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Load contracts/spec/operators: which overloads there are, and what each computes.

A family is a file of entries. An entry names overloads whose formula is the same, and of each of
them the forms that PyTorch has, as schemas.yml says: the function, in place, with an output.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from complex_formula import ComplexFormula, ComplexReader
from row_formula import (
    KINDS,
    Formula,
    FormulaError,
    Language,
    Reader,
    load_opcodes,
    names_in,
    optional_in,
)

SPEC = Path("spec") / "operators"
FORMS = ("function", "in_place", "out")
RULES = ("promote", "promote_to_float", "compare", "self", "predicate", "same")
OF_TRUTH = ("compare", "predicate")
# Class of numerics: how far a result in float32 may be from the right one, in units in the last
# place of the result, where every opcode is as good as a good libm; of `terms`, of the largest
# number that was added. `exact` is to the bit.
CLASSES = {"exact": 0, "rounded": 4, "terms": 4, "elementary": 64, "special": 2048}
# Where PyTorch is not to be matched; docs/operators-as-data.md has the reasons.
OPEN = (
    "zero_sign", "overflow", "nan", "cancellation", "inexact", "float_constants", "minus_infinity",
    "steps", "not_finite",
)  # fmt: skip
FLAGS = (
    "divides_integers", "exact_numbers", "refuses_truth", "refuses_half", "refuses_integer_ratio",
    "same_output", "contiguous_real", "second_first", "first_rounded",
)  # fmt: skip
KEYS = {
    "of", "rule", "apart", "checked", "flags", "when", "class", "forms", "ignored", "numbers",
    "open", *KINDS, "number", "any", "complex", "complex_class", "complex_open",
}  # fmt: skip
# What has to hold of an argument beside being equal to something.
CONDITIONS = ("absent", "present", "not_negative", "positive", "not_negative_finite")
MOST = 4  # tensors, and numbers


class SpecError(ValueError):
    """An entry that says something that cannot be."""


@dataclass(frozen=True)
class Argument:
    """An argument of a schema."""

    name: str
    type: str
    default: str | None

    @property
    def is_optional(self) -> bool:
        """Returns whether it may be None."""
        return self.type.endswith("?")

    @property
    def is_tensor(self) -> bool:
        """Returns whether it is a tensor, which may be None."""
        return self.type.startswith("Tensor")


@dataclass(frozen=True)
class Schema:
    """One overload of PyTorch, by the name that it has there."""

    name: str
    arguments: tuple[Argument, ...]

    def position(self, name: str) -> int:
        """Returns where an argument stands."""
        return [one.name for one in self.arguments].index(name)


@dataclass(frozen=True)
class Row:
    """One overload and what has to hold of its arguments; arguments by name."""

    schema: Schema
    form: str
    rule: str
    numerics: str
    tensors: tuple[str, ...]
    numbers: tuple[str, ...]
    apart: frozenset[str]
    checked: frozenset[str]
    flags: tuple[str, ...]
    conditions: tuple[
        tuple[str, object], ...
    ]  # argument; "absent", "present", a text or an integer
    formulas: Mapping[str, Formula]  # by kind of number
    complex: ComplexFormula | None
    entry: Mapping[str, Any]

    @property
    def tensor_promotes(self) -> tuple[bool, ...]:
        """Returns for each tensor whether it takes part in the dtype of the result."""
        return tuple(name not in self.apart for name in self.tensors)

    @property
    def number_promotes(self) -> tuple[bool, ...]:
        """Returns the same for each number: of PyTorch's types a Scalar alone does."""
        return tuple(self.type_of(name) == "Scalar" and name not in self.apart
                     for name in self.numbers)  # fmt: skip

    def type_of(self, name: str) -> str:
        """Returns the type of an argument, whether or not it may be absent."""
        return self.schema.arguments[self.schema.position(name)].type.removesuffix("?")


def split_arguments(text: str) -> Iterator[str]:
    """Yields what stands between commas that are in no bracket."""
    depth, start = 0, 0
    for place, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    yield text[start:].strip()


def parse_schema(text: str) -> Schema:
    """Reads `name.overload(arguments) -> returns`."""
    found = re.fullmatch(r"(?:aten::)?([\w.]+)\((.*)\) -> .+", text)
    if not found:
        raise SpecError(f"not a schema: {text}")
    arguments = []
    for one in split_arguments(found[2]):
        if one in ("", "*"):
            continue
        declared, _, default = one.partition("=")
        kind, name = re.sub(r"\([^()]*\)", "", declared).split()
        arguments.append(Argument(name, kind, default or None))
    return Schema(found[1], tuple(arguments))


def read_yaml(path: Path) -> Any:
    """Returns what a file says; a key that stands twice is an error."""
    return yaml.load(path.read_text(), Loader=_Loader)  # noqa: S506  it is a SafeLoader


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise SpecError(f"line {node.start_mark.line + 1}: {key} stands twice")
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


@dataclass(frozen=True)
class Family:
    """Holds what formulas of a file may name; `of_complex` are functions of complex operands."""

    language: Language
    of_complex: Mapping[str, tuple[tuple[str, ...], str]]


def functions(file: Mapping[str, Any]) -> dict[str, tuple[tuple[str, ...], str]]:
    """Returns the functions that a family defines: `name(a, b): formula`."""
    made = {}
    for head, body in (file.get("functions") or {}).items():
        found = re.fullmatch(r"(\w+)\(([\w, ]*)\)", head)
        if not found:
            raise SpecError(f"not a function: {head}")
        made[found[1]] = (tuple(one.strip() for one in found[2].split(",")), str(body))
    return made


def texts(entry: Mapping[str, Any]) -> dict[str, str]:
    """Returns the formula of each kind of number that an entry has."""
    made = {}
    for key, kinds in ("any", KINDS), ("number", KINDS[1:]), *((one, (one,)) for one in KINDS):
        if key in entry:
            made.update(dict.fromkeys(kinds, str(entry[key])))
    return made


def all_texts(entry: Mapping[str, Any]) -> list[str]:
    """Returns every formula of an entry."""
    return [*texts(entry).values(), *([str(entry["complex"])] if "complex" in entry else [])]


def one_row(
    family: Family, entry: Mapping[str, Any], schema: Schema, form: str, absent: frozenset[str]
) -> Row:
    """Returns the row of one overload, where these optional arguments are absent."""
    said, known = texts(entry), {one.name: one for one in schema.arguments}
    when, apart = dict(entry.get("when", {})), frozenset(entry.get("apart", ()))
    read = set().union(*(names_in(text) for text in all_texts(entry))) - absent
    tensors = tuple(n for n, one in known.items() if n in read and one.is_tensor)
    numbers = tuple(n for n, one in known.items() if n in read and not one.is_tensor)
    kinds = {name: "truth" if name in apart else "tensor" for name in tensors}
    kinds.update(dict.fromkeys(numbers, "number"))
    formulas = {}
    for kind, text in said.items():
        formulas[kind] = Reader(family.language, kind, kinds, absent).read(text)
        want_truth(text, formulas[kind].is_truth, kind == "truth" or entry["rule"] in OF_TRUTH)
    complex_formula = None
    if "complex" in entry:
        reader = ComplexReader(family.language, family.of_complex, kinds, absent)
        complex_formula = reader.read(str(entry["complex"]))
        want_truth(str(entry["complex"]), complex_formula.is_truth, entry["rule"] in OF_TRUTH)
    conditions: list[tuple[str, object]] = list(when.items())
    conditions += [(name, "absent") for name in known if name in absent]
    conditions += [(name, "present") for name, one in known.items()
                   if one.is_optional and name in read and name not in when]  # fmt: skip
    row = Row(schema, form, entry["rule"], entry["class"], tensors, numbers, apart,
              frozenset(entry.get("checked", ())), tuple(entry.get("flags", ())),
              tuple(conditions), formulas, complex_formula, entry)  # fmt: skip
    check_row(row, absent)
    return row


def want_truth(text: str, is_truth: bool, wanted: bool) -> None:
    """Raises where a formula is a truth value and should be none, or the other way round."""
    if is_truth != wanted:
        raise FormulaError(f"{text!r} is {'a' if is_truth else 'no'} truth value")


def check_row(row: Row, absent: frozenset[str]) -> None:
    """Raises where a row leaves an argument unsaid, or names one that is not there."""
    names = [one.name for one in row.schema.arguments]
    if row.form == "out":
        names = names[:-1]
    said = {*row.tensors, *row.numbers, *absent, *(name for name, _ in row.conditions)}
    said |= set(row.entry.get("ignored", ()))
    unknown = set(row.entry.get("numbers", ())) - set(names)
    if unknown:
        raise SpecError(f"numbers for {min(unknown)}, which is no argument")
    if row.form == "in_place":
        said.add(names[0])
    for name in names:
        if name not in said:
            raise SpecError(f"nothing is said of the argument {name}")
    for name in {*row.apart, *row.checked} | said:
        if name not in names:
            raise SpecError(f"there is no argument {name}")
    if len(row.tensors) > MOST or len(row.numbers) > MOST:
        raise SpecError(f"more than {MOST} tensors or numbers")
    if not any(row.tensor_promotes):
        raise SpecError("no tensor says the dtype")


def check_entry(entry: Mapping[str, Any]) -> None:
    """Raises where an entry has a key or a word that there is not."""
    for key in entry:
        if key not in KEYS:
            raise SpecError(f"no key is called {key}")
    classes = tuple(CLASSES)
    for key, words in ("rule", RULES), ("class", classes), ("complex_class", classes):
        if entry.get(key, entry.get("class")) not in words:
            raise SpecError(f"{key} is one of {', '.join(words)}")
    for key, words in ("flags", FLAGS), ("forms", FORMS), ("open", OPEN), ("complex_open", OPEN):
        for word in entry.get(key, ()):
            if word not in words:
                raise SpecError(f"{key} are of {', '.join(words)}, not {word}")
    if not all_texts(entry):
        raise SpecError("no formula")


def rows_of(
    family: Family, entry: Mapping[str, Any], schemas: Mapping[str, Mapping[str, str]]
) -> Iterator[Row]:
    """Yields the rows of an entry: for each overload, form, and choice of what is absent."""
    check_entry(entry)
    optional = sorted(set().union(*(optional_in(text) for text in all_texts(entry))))
    for name in entry["of"]:
        if name not in schemas:
            raise SpecError(f"{name} is not in schemas.yml; run contracts/rows/take_schemas.py")
        for form in entry.get("forms", FORMS):
            if form not in schemas[name]:
                continue
            schema = parse_schema(schemas[name][form])
            for left_out in itertools.product((False, True), repeat=len(optional)):
                absent = frozenset(itertools.compress(optional, left_out))
                yield one_row(family, entry, schema, form, absent)


def families(root: Path) -> list[Path]:
    """Returns the files of the families."""
    return [path for path in sorted((root / SPEC).glob("*.yml")) if path.stem != "schemas"]


def load_rows(root: Path) -> list[Row]:
    """Returns all rows below contracts/, sorted by overload; rows of one overload as they stand."""
    schemas = read_yaml(root / SPEC / "schemas.yml")
    opcodes = load_opcodes(root / "include" / "tbk" / "tbk_opcodes.h")
    shared = root / SPEC / "complex.yml"
    of_complex = functions(read_yaml(shared)) if shared.exists() else {}
    rows: list[Row] = []
    for path in families(root):
        file = read_yaml(path)
        family = Family(Language(opcodes, functions(file)), of_complex)
        for entry in file["rows"]:
            try:
                rows += rows_of(family, entry, schemas)
            except (SpecError, FormulaError) as error:
                raise SpecError(f"{path.name}: {entry.get('of', entry)}: {error}") from error
    seen = set()
    for row in rows:
        key = (row.schema.name, row.conditions)
        if key in seen:
            raise SpecError(f"{row.schema.name} stands twice for the same arguments")
        seen.add(key)
    return sorted(rows, key=lambda row: row.schema.name)
