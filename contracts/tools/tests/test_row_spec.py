# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the reader of formulas and of operators/*.yml makes of what is written there."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))

from generate_rows import literal  # noqa: E402
from row_formula import Formula, FormulaError, Language, Reader, load_opcodes  # noqa: E402
from row_spec import Family, Row, SpecError, functions, load_rows, parse_schema, rows_of  # noqa: E402

LANGUAGE = Language(load_opcodes(), functions({"functions": {"twice(x)": "x + x"}}))
SCHEMAS = {
    "clip": {"function": "clip(Tensor self, Scalar? min=None) -> Tensor"},
    "pick": {"function": "pick(Tensor self, Tensor mask, str how='a') -> Tensor"},
    "neg": {
        "function": "neg(Tensor self) -> Tensor",
        "in_place": "neg_(Tensor(a!) self) -> Tensor(a!)",
        "out": "neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
    },
}
NEG: dict[str, object] = {"of": ["neg"], "rule": "self", "number": "-self", "class": "exact"}


def read(text: str, kind: str = "real") -> Formula:
    names = {"self": "tensor", "mask": "truth", "alpha": "number"}
    return Reader(LANGUAGE, kind, names, frozenset()).read(text)


def shape(formula: Formula) -> list[str]:
    return [node.name or node.kind for node in formula.nodes]


def test_a_value_that_is_needed_twice_stands_once() -> None:
    assert shape(read("t = exp(self); t + t")) == ["self", "EXP", "ADD"]
    assert shape(read("exp(self) + exp(self)")) == ["self", "EXP", "ADD"]


def test_what_the_result_does_not_need_is_left_out() -> None:
    assert shape(read("t = exp(self); self")) == ["self"]


def test_a_truth_value_among_numbers_becomes_a_number() -> None:
    assert shape(read("self + (self > 0)"))[-2:] == ["kCompute", "ADD"]
    assert shape(read("where(mask, self, 0)")) == ["mask", "self", "kLiteral", "SELECT"]


def test_a_real_number_is_rounded_where_it_is_said() -> None:
    assert shape(read("trunc(rounded(self / alpha))"))[-2:] == ["kRounded", "TRUNC"]
    with pytest.raises(FormulaError, match="no function rounded"):
        read("rounded(self)", "integer")


def test_a_function_has_a_scope_of_its_own() -> None:
    assert shape(read("x = 1; twice(self) + x")) == ["kLiteral", "self", "ADD", "ADD"]
    language = Language(LANGUAGE.opcodes, {"f": (("x",), "x + alpha")})
    reader = Reader(language, "real", {"alpha": "number"}, frozenset())
    with pytest.raises(FormulaError, match="nothing has the name alpha"):
        reader.read("f(alpha)")


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("self +", "real", "invalid syntax"),
        ("self + other", "real", "nothing has the name other"),
        ("self / 2", "integer", "DIV is not for integer"),
        ("self // 2", "real", "DIV_FLOOR is not for real"),
        ("self + self", "truth", "ADD is not for truth"),
        ("self + 0.5", "integer", "0.5 is no integer"),
        ("floor(self, self)", "real", "FLOOR takes 1 operands, not 2"),
        ("cast(self)", "real", "no function cast"),
        ("self.x", "real", "is no part of a formula"),
        ("0 < self < 1", "real", "is no part of a formula"),
        ("t = 1", "real", "the result is missing"),
        ("", "real", "the result is missing"),
        ("f(self); self", "real", "stand only names"),
        ("twice(self, self)", "real", "twice takes 1 operands"),
        ("given(self)", "real", "given takes"),
    ],
)
def test_a_bad_formula_is_told(text: str, kind: str, said: str) -> None:
    with pytest.raises(FormulaError, match=said):
        read(text, kind)


def rows(entry: Mapping[str, object]) -> list[Row]:
    return list(rows_of(Family(LANGUAGE, {}), entry, SCHEMAS))


def test_an_entry_has_a_row_for_each_form() -> None:
    assert [row.schema.name for row in rows(NEG)] == ["neg", "neg_", "neg.out"]


def test_what_may_be_absent_has_rows_for_both() -> None:
    entry = {"of": ["clip"], "rule": "promote", "real": "max(self, given(min, least))",
             "class": "exact"}  # fmt: skip
    assert [row.conditions for row in rows(entry)] == [
        (("min", "present"),), (("min", "absent"),),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"of": ["nothing"]}, "nothing is not in schemas.yml"),
        ({"rule": "selfish"}, "rule is one of"),
        ({"class": "good"}, "class is one of"),
        ({"flags": ["quick"]}, "flags are of"),
        ({"open": ["all"]}, "open are of"),
        ({"numbers": {"alpha": [1]}}, "numbers for alpha"),
        ({"colour": 1}, "no key is called colour"),
        ({"apart": ["alpha"]}, "there is no argument alpha"),
        ({"apart": ["self"]}, "no tensor says the dtype"),
        ({"number": "self > 0"}, "is a truth value"),
        ({"rule": "predicate"}, "is no truth value"),
        ({"of": ["clip"]}, "nothing is said of the argument min"),
        ({"of": ["pick"]}, "nothing is said of the argument mask"),
    ],
)
def test_a_bad_entry_is_told(change: dict[str, object], said: str) -> None:
    with pytest.raises((SpecError, FormulaError), match=said):
        rows({**NEG, **change})


def test_a_default_with_a_comma_is_one_argument() -> None:
    schema = parse_schema("f(Tensor self, int[2] x=[1, 2], *, str? how=None) -> (Tensor, Tensor)")
    assert [one.name for one in schema.arguments] == ["self", "x", "how"]


def test_an_overload_stands_once(tmp_path: Path) -> None:
    for name in ("include/tbk", "spec/operators"):
        (tmp_path / name).mkdir(parents=True)
    header = TOOLS.parent / "include" / "tbk" / "tbk_opcodes.h"
    (tmp_path / "include/tbk/tbk_opcodes.h").write_text(header.read_text())
    folder = tmp_path / "spec" / "operators"
    folder.joinpath("schemas.yml").write_text("neg: {function: 'neg(Tensor self) -> Tensor'}\n")
    row = "  - {of: [neg], rule: self, number: -self, class: exact}\n"
    folder.joinpath("a.yml").write_text("rows:\n" + row)
    folder.joinpath("b.yml").write_text("rows:\n" + row)
    with pytest.raises(SpecError, match="neg stands twice"):
        load_rows(tmp_path)
    folder.joinpath("b.yml").write_text("rows: []\nrows: []\n")
    with pytest.raises(SpecError, match="rows stands twice"):
        load_rows(tmp_path)


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.5, "0.5"), (-2.0, "-2"), (float("inf"), "kInf"), (float("-inf"), "-kInf"),
     (float("nan"), "kNan"), (-0.0, "-0x0.0p+0"), (1e300, "1e+300")],
)  # fmt: skip
def test_a_number_is_written_to_the_bit(number: float, text: str) -> None:
    assert literal(number.hex()) == text
