# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A file of operators that says what it can't say: one line, with the file and the line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch_tbk.custom.bounds import BeyondBoundsError
from torch_tbk.custom.dry import read_and_try
from torch_tbk.custom.formula import Formula
from torch_tbk.custom.lines import OperatorsError
from torch_tbk.custom.spec import read_operators

RIGHT = """\
namespace: acme
operators:
  - schema: f(Tensor x, Tensor y, float a=1.0) -> Tensor
    formula: x * y + a
    outputs:
      - {like: x}
    kernel: {name: "acme::f"}
    backward:
      gradients:
        x: grad * y
        y: grad * x
    dtypes: [float32]
    samples:
      - {x: [3], y: [3]}
"""

# What is written instead of what, and what is said of it, from the line on.
MISTAKES = [
    ("float a=1.0", 'float a="b"', "3: the default of a: 'b' is no float"),
    ("float a=1.0", "int a=1.5", "3: "),
    ("y: [3]}", "y: [3], a: abc}", "14: a: 'abc' is no float"),
    ("y: [3]}", "y: [3], a: [1, 2]}", "14: a: [1, 2] is no float"),
    ("y: [3]}", "y: [3], a: null}", "14: a: None is no float"),
    ("y: [3]}", "y: [3], a: true}", "14: a: True is no float"),
    ("y: [3]}", "y: null}", "14: y: a shape is a list of sizes, not None"),
    ("y: [3]}", "y: {shape: [3], low: a}}", "14: y: 'a' is no float"),
    ("y: [3]}", "y: {shape: [3], low: 5}}", "14: y: nothing lies from 5 to 2"),
    ("y: [3]}", "y: {shape: [3], dtype: 7}}", "14: y: 7 is no dtype"),
    ("y: [3]}", "y: [3], a: 2026-13-45}", "14: month must be in"),
    ("namespace: acme", "namespace: &a [*a]", "1: an alias stands within what it names"),
    ("{like: x}", "{like: x, shape: [nope]}", "6: 'nope' is no argument, and no function of"),
    ("namespace: acme", "namespace: aten", "1: aten is kept by PyTorch"),
    ("namespace: acme", "namespace: Acme", "1: namespace: 'Acme' does not match"),
    ("namespace: acme\n", "", "1: 'namespace' is a required property"),
    ("operators:", "operators: []\nothers:", "3: unknown key 'others'"),
    ("f(Tensor x,", "f(Tensor x", "3: PyTorch can't read"),
    ("schema: f", "schema: acme::f", "3: write it without acme::"),
    ("float a=1.0", "Generator? a=None", "3: a is a Generator?, which no argument struct"),
    ("-> Tensor", "-> int", "3: returns int"),
    ("-> Tensor", "-> ()", "3: an operator writes an argument (a!), or returns tensors"),
    ("f(Tensor x", "f(Tensor(a!) x", "3: an operator writes an argument, or returns tensors"),
    ("x * y + a", "x * z + a", "4: 'z' is no argument"),
    ("x * y + a", "sigmiod(x)", "4: 'sigmiod' is no argument, and no function of PyTorch; sigmoid"),
    ("x * y + a", "x *", "4: not an expression"),
    ("x * y + a", "x.sum()", "4: a formula has no .sum: write sum(...)"),
    ("x * y + a", "'[x for x in y]'", "4: a formula has no ListComp"),
    ("x * y + a", "__import__('os')", "4: '__import__' is no argument"),
    ("    formula: x * y + a\n", "", "3: operators: 'formula' is a required property"),
    ("    samples:", "    sampels:", "13: unknown key 'sampels'; samples is meant?"),
    ("namespace: acme", "namspace: acme", "1: unknown key 'namspace'; namespace is meant?"),
    ("{name: ", "{nmae: ", "7: unknown key 'nmae'; name is meant?"),
    (
        "float a=1.0",
        "float a=b",
        "3: PyTorch can't read 'f(Tensor x, Tensor y, float a=b) -> Tensor'"
        ": invalid numeric default value: 'b) -> Tensor'",
    ),
    ("float a=1.0", "int a=99999999999999999999", "3: PyTorch can't read"),
    ("float a=1.0", "float x=1.0", "3: two arguments are called x"),
    ("float a=1.0", "...", "3: an operator names all its arguments"),
    ("float a=1.0", "*, Tensor? a=None", "3: a is a tensor that is given by keyword alone"),
    ("float a=1.0", "*, Tensor[] a", "3: a is a tensor that is given by keyword alone"),
    ("float a=1.0", "Tensor[] a", "8: a is a list of tensors, which has no gradient: add it to"),
    ("y: grad * x", "a: grad * x", "9: a is a float: a gradient is described of a tensor alone"),
    ("{like: x}", "{like: a}", "6: an output is like a tensor, and a is none"),
    ("{like: x}", "{shape: [3], dtype: []}", "6: operators.outputs.dtype: "),
    ("x * y + a", "x" + "+ x" * 9000, "4: it is nested too deep"),
    ("[float32]", "[flaot32]", "12: 'flaot32' is no dtype of PyTorch; float32 is meant?"),
    ("x: [3],", "x: [100000, 100000],", "14: 10000000003 elements; a sample has 67108864 at most"),
    ("{like: x}", "{like: z}", "6: no argument is called 'z'"),
    ("{like: x}", "{shape: [1]}", "6: an output has `like`, or `shape` and `dtype`"),
    ("- {like: x}", "- {like: x}\n      - {like: y}", "5: 2 rules for 1 result"),
    ("{like: x}", "{like: x, dtype: float31}", "6: 'float31' is no dtype"),
    ("kernel:", "kernal:", "7: unknown key 'kernal'; kernel is meant?"),
    ('"acme::f"', "f", "7: operators.kernel.name: 'f' does not match"),
    ("        y: grad * x\n", "", "8: it says nothing of y: give its gradient"),
    ("y: grad * x", "z: grad * x", "9: no argument is called 'z'"),
    ("grad * y", "grda * y", "10: 'grda' is no argument, and no function of PyTorch; grad is"),
    ("gradients:", "operator: f\n      gradients:", "8: it has `gradients`, or `operator`"),
    ("y: [3]}", "z: [3]}", "14: no argument is called 'z'"),
    (", y: [3]}", "}", "14: it has no y"),
    ("y: [3]}", "y: 3}", "14: y: a shape is a list of sizes, not 3"),
    ("y: [3]}", "y: {shap: [3]}}", "14: y: unknown key 'shap'; shape is meant?"),
    ("    kernel:", "    formula: x\n    kernel:", "7: 'formula' stands here twice"),
    ("- {like: x}", "- {like: x", "7: "),
    ("    dtypes:", "\tdtypes:", "12: found character '\\t'"),
]


@pytest.mark.parametrize(("there", "instead", "says"), MISTAKES)
def test_a_mistake_is_one_line_with_its_place(
    there: str, instead: str, says: str, tmp_path: Path
) -> None:
    assert there in RIGHT
    file = tmp_path / "acme.yml"
    file.write_text(RIGHT.replace(there, instead, 1))
    with pytest.raises(OperatorsError) as caught:
        read_operators(file)
    said = str(caught.value)
    assert said.startswith(f"{file}:{says}"), said
    assert "\n" not in said


SECOND = """\
  - schema: g(Tensor x) -> Tensor
    formula: x * x
    backward: {operator: g_backward, arguments: [grad, x], gives: [x]}
    samples: [{x: [3]}]
  - schema: g_backward(Tensor grad, Tensor x) -> Tensor
    formula: 2 * grad * x
    samples: [{grad: [3], x: [3]}]
"""


@pytest.mark.parametrize(
    ("there", "instead", "says"),
    [
        ("operator: g_backward", "operator: g_backwards", "17: no operator of this file is called"),
        ("arguments: [grad, x]", "arguments: [grad]", "17: g_backward takes 2 arguments, and"),
        ("arguments: [grad, x]", "arguments: [grad, z]", "17: no argument is called 'z'"),
        ("gives: [x]", "gives: [x, x]", "17: g_backward returns 1 tensor, and gives names 2"),
        (", gives: [x]", "", "17: `operator` needs `gives`"),
        ("g(Tensor x)", "f(Tensor x)", "15: acme::f stands in"),
    ],
)
def test_a_mistake_between_operators_is_one_line_with_its_place(
    there: str, instead: str, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "acme.yml"
    file.write_text(RIGHT + SECOND)
    assert [one.name for one in read_operators(file)] == ["f", "g", "g_backward"]
    file.write_text(RIGHT + SECOND.replace(there, instead, 1))
    with pytest.raises(OperatorsError) as caught:
        read_operators(file)
    assert str(caught.value).startswith(f"{file}:{says}"), caught.value


def test_an_operator_takes_a_tensor(tmp_path: Path) -> None:
    file = tmp_path / "acme.yml"
    entry = "{schema: f(float a) -> Tensor, formula: a + 1, samples: [{a: 1.0}]}"
    file.write_text(f"namespace: acme\noperators:\n  - {entry}\n")
    with pytest.raises(OperatorsError, match=r"acme\.yml:3: an operator takes a tensor"):
        read_operators(file)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(OperatorsError, match=r"none\.yml: it can't be read: No such file"):
        read_operators(tmp_path / "none.yml")


def test_a_formula_names_parts_and_chooses() -> None:
    formula = Formula("s = sigmoid(x)\ns if y is None else s * y + size(x, 0)", ["x", "y"])
    x = torch.ones(2)
    assert torch.equal(formula({"x": x, "y": None}), torch.sigmoid(x))
    assert torch.equal(formula({"x": x, "y": x}), torch.sigmoid(x) + 2)
    assert formula.names == {"x", "y"}


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        ("int", "1.5", "1.5 is no int"),
        ("int", "true", "True is no int"),
        ("int", str(2**63), "is beyond 64 bits"),
        ("bool", "1", "1 is no bool"),
        ("str", "7", "7 is no str"),
        ("Scalar", "abc", "'abc' is no number"),
        ("ScalarType", "float31", "'float31' is no dtype"),
        ("int[]", "3", "3 is no list: int[]"),
        ("int[]", "[1, a]", "'a' is no int"),
        ("bool?", "[]", "[] is no bool"),
        ("Tensor[]", "[[2], [-1]]", "a shape is a list of sizes"),
        ("Tensor[]", "[null]", "a shape is a list of sizes"),
    ],
)
def test_a_sample_is_of_the_schemas_types(kind: str, given: str, says: str, tmp_path: Path) -> None:
    entry = f"schema: 'f(Tensor x, {kind} n) -> Tensor', formula: x"
    file = tmp_path / "acme.yml"
    samples = f"samples: [{{x: [2], n: {given}}}]"
    file.write_text(f"namespace: acme\noperators:\n  - {{{entry}, {samples}}}\n")
    with pytest.raises(OperatorsError) as error:
        read_operators(file)
    assert f"{file}:3: n: " in str(error.value)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("int", "-3"), ("bool", "true"), ("str", "abc"), ("Scalar", "1.5"), ("float", "2"),
        ("ScalarType", "int64"), ("int[2]", "3"), ("int[]", "[1, 2]"), ("float?", "null"),
        ("Tensor?[]", "[null, [2]]"), ("bool[]", "[true]"), ("Tensor?", "null"),
    ],
)  # fmt: skip
def test_what_is_of_its_type_is_taken(kind: str, given: str, tmp_path: Path) -> None:
    entry = f"schema: 'f(Tensor x, {kind} n) -> Tensor', formula: x"
    file = tmp_path / "acme.yml"
    samples = f"samples: [{{x: [2], n: {given}}}]"
    file.write_text(f"namespace: acme\noperators:\n  - {{{entry}, {samples}}}\n")
    assert [one.name for one in read_and_try(file)] == ["f"]


@pytest.mark.parametrize(
    ("there", "instead", "says"),
    [
        ("y: [3]}", "y: [4]}", "14: the formula does not fit this sample: RuntimeError: The size"),
        ("{like: x}", '{shape: ["size(x, 7)"], dtype: [x]}', "IndexError: Dimension out of range"),
        ("{like: x}", '{shape: ["9"], dtype: [x]}', "and the rule says torch.float32 of [9]"),
        ("x * y + a", "(x, y)", "the formula gives 2 results and the schema has 1"),
    ],
)
def test_shapes_that_cannot_be_are_told(
    there: str, instead: str, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "acme.yml"
    file.write_text(RIGHT)
    assert len(read_and_try(file)) == 1
    file.write_text(RIGHT.replace(there, instead))
    with pytest.raises(OperatorsError) as error:
        read_and_try(file)
    assert f"{file}:14: " in str(error.value)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "1: the file is empty"),
        ("# nothing\n", "1: the file is empty"),
        ("word " * 1000, "1: 'word"),
        ("[" * 5000, "1: it is nested too deep"),
        ("a: &a [x]\n" + "".join(
            f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else '*a'] * 10)}]\n" for n in range(7)
        ), "more than 100000 values"),
        ("namespace: acme\noperators:\n  - {schema: " + "q" * 3000, "3: "),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_one_short_line(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "acme.yml"
    file.write_text(text)
    with pytest.raises(OperatorsError) as error:
        read_operators(file)
    said = str(error.value)
    assert says in said
    assert len(said) < len(str(file)) + 300
    assert "\n" not in said


def test_what_pytorchs_parser_found_is_told(tmp_path: Path) -> None:
    file = tmp_path / "acme.yml"
    file.write_text(RIGHT.replace("f(Tensor x,", "f(Tensor x"))
    with pytest.raises(OperatorsError, match="found 'ident' here: 'Tensor y, float a"):
        read_operators(file)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ("f(Tensr x) -> Tensor", "unknown type specifier: 'Tensr x) -> Tensor'"),
        ("f(Tensor x) -> Foo", "unknown type specifier: 'Foo'"),
        ("f(Tensor x, str s=abc) -> Tensor", "invalid numeric default value: 'abc) -> Tensor'"),
        ("f(Tensor x, int a=99999999999999999999) -> Tensor", "a number is beyond 64 bits"),
        ("f(Tensor x, float a=1e999) -> Tensor", "a number is beyond 64 bits"),
        ("f(Tensor x, int k=1, int m) -> Tensor", "positional argument follows default argument"),
        ("f(Tensor x", "expected ) but found 'eof'"),
        ("f(\n  Tensor x, Tensr y) -> Tensor", "unknown type specifier: 'Tensr y) -> Tensor'"),
    ],
)
def test_why_a_schema_cannot_be_read_is_told(schema: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "acme.yml"
    entry = json.dumps({"schema": schema, "formula": "x", "samples": [{"x": [3]}]})
    file.write_text(f"namespace: acme\noperators:\n  - {entry}\n")
    with pytest.raises(OperatorsError) as error:
        read_operators(file)
    assert f"{file}:3: PyTorch can't read" in str(error.value)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


LIST = """\
namespace: acme
operators:
  - schema: f(Tensor[] xs) -> Tensor
    formula: sum(stack(xs), 0)
    backward: {gradients: {xs: grad}}
    samples: [{xs: [[3], [3]]}]
"""


@pytest.mark.parametrize(
    ("instead", "says"),
    [
        ("gradients: {xs: grad}", "5: xs is a Tensor[]: a gradient is described of a tensor alone"),
        ("gradients: {xy: grad}", "5: no argument is called 'xy'"),
        ("operator: f, arguments: [grad], gives: [xs]", "5: xs is a Tensor[]: a gradient is"),
    ],
)
def test_a_list_of_tensors_has_no_gradient(instead: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "acme.yml"
    file.write_text(LIST.replace("gradients: {xs: grad}", instead))
    with pytest.raises(OperatorsError) as error:
        read_operators(file)
    assert str(error.value).startswith(f"{file}:{says}")
    assert not str(error.value).endswith("there are ")


@pytest.mark.parametrize(
    ("there", "instead", "says"),
    [
        ("x * y + a", "a", "4: acme::f: the formula gives 1.0, and not a tensor"),
        ("x * y + a", "x.shape == y.shape", "4: acme::f: the formula gives True, and not a tensor"),
        ("x * y + a", "'\"text\"'", "4: acme::f: the formula gives 'text', and not a tensor"),
        ("grad * y", "a", "10: the gradient of x does not fit a sample: acme::f: the formula"),
        ("grad * y", "grad + zeros(7)", "10: the gradient of x does not fit a sample: Runtime"),
    ],
)
def test_a_formula_that_gives_no_tensor_is_told(
    there: str, instead: str, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "acme.yml"
    file.write_text(RIGHT.replace(there, instead))
    with pytest.raises(OperatorsError) as error:
        read_and_try(file)
    assert str(error.value).startswith(f"{file}:{says}"), error.value


@pytest.mark.parametrize(
    "text",
    [
        "9 ** 9 ** 9 ** 9",
        "1 << 10 ** 12",
        "2 ** n",
        "[0] * 10 ** 12",
        "10 ** 12 * [0]",
        "'%1000000000d' % 3",
        "a = 9\n" + "a = a * a\n" * 60 + "a",
        "a = [9]\n" + "a = a + a\n" * 60 + "a",
    ],
)
def test_arithmetic_without_a_bound_ends(text: str) -> None:
    with pytest.raises(BeyondBoundsError):
        Formula(text, ["n"])({"n": 10**18})


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("2 ** 100 / 2 ** 99", 2.0),
        ("2 ** -1", 0.5),
        ("(-1) ** 10 ** 9", 1),
        ("1 << 40", 2**40),
        ("7 % 4 + 2 * 3", 9),
        ("[2] * 2 + [3]", [2, 2, 3]),
        ("2.5 ** 2", 6.25),
    ],
)
def test_arithmetic_within_bounds_is_pythons(text: str, result: object) -> None:
    assert Formula(text, [])({}) == result


def test_what_follows_an_absent_tensor_is_told(tmp_path: Path) -> None:
    file = tmp_path / "acme.yml"
    text = RIGHT.replace("float a=1.0", "Tensor? a=None").replace("x * y + a", "x * y")
    text = text.replace("      gradients", "      not_differentiable: [a]\n      gradients")
    for rule in ("like: a", "shape: [3], dtype: [x, a]"):
        file.write_text(text.replace("like: x", rule))
        with pytest.raises(OperatorsError, match="an output follows a, which is not given"):
            read_and_try(file)
