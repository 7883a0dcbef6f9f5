# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What is known of a word that stands in a report: a clause, an area, a test, a verdict, a status
of the interface, or a capability."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tbk_contracts
from tbk_contracts import Clause, Row
from tbk_contracts.profiles import profiles
from tbk_contracts.torch_rows import TorchMutant, TorchTest, torch_tests
from tbk_reports.model import FAILING
from tbk_reports.text import line
from tbk_reports.words import STATE_MEANING, STATE_WORDS

from tbk_harness import mutants, torch_names

_STATUS = re.compile(r"X\((\w+),\s*(-?\d+),\s*\"([^\"]*)\"\)")


@dataclass(frozen=True)
class Found:
    """What a word is: its kind and name, a sentence, and facts, each a name and a text."""

    kind: str
    name: str
    text: str
    facts: tuple[tuple[str, str], ...]

    def document(self) -> dict[str, Any]:
        """Returns the same as data; the facts as lists, since a clause has several tests."""
        facts: dict[str, list[str]] = {}
        for name, value in self.facts:
            facts.setdefault(name.replace(" ", "_"), []).append(value)
        return {"kind": self.kind, "name": self.name, "text": self.text, "facts": facts}


# -------------------------------------------------------------------------------------- tests ---


@cache
def _torch_tests() -> tuple[TorchTest, ...]:
    here = Path(tbk_contracts.__file__).resolve().parent
    return tuple(torch_tests(here / "torch", here))


def torch_id(test: TorchTest) -> str:
    """Returns the test's name in a run, without parameters."""
    return f"torch_{Path(test.file).stem[5:]}/{test.name.removeprefix('test_')}"


def _rows() -> Iterator[Row]:
    for clause in tbk_contracts.clauses():
        yield from tbk_contracts.tests_of(clause.id)


def _needing(words: str | None) -> str:
    return f", needs {words}" if words else ""


def _of_clauses(ids: tuple[str, ...]) -> list[tuple[str, str]]:
    found = [tbk_contracts.clause(one) for one in ids]
    return [("clause", f"{one.id}, a {one.level}: {one.text}") for one in found if one]


def _test(word: str) -> Iterator[Found]:
    plain = word.partition("[")[0]
    for row in _rows():
        if row.id == plain:
            tier = "thorough" if "THOROUGH" in row.flags else "quick"
            facts = [*_of_clauses((row.clause,)), ("layer", "c"), ("tier", tier)]
            facts += [("needs", row.needs)] if row.needs else []
            facts += [
                ("source", f"{row.file}:{row.number}"),
                ("alone", f"tbk-run LIB --only {row.id}"),
            ]
            yield Found("test", row.id, row.name.replace("_", " "), tuple(facts))
    for test in _torch_tests():
        if torch_id(test) == plain:
            facts = [*_of_clauses(test.clauses), ("layer", "torch")]
            facts += [("needs", test.needs)] if test.needs else []
            facts += [
                ("source", f"{test.file}:{test.number}"),
                ("alone", f"tbk check NAME --only '{word}'"),
            ]
            text = test.name.removeprefix("test_").replace("_", " ")
            yield Found("test", torch_id(test), text, tuple(facts))


def clauses_of(word: str) -> set[str]:
    """Returns the clauses that a test cites, whatever its parameters are."""
    plain = word.partition("[")[0]
    of_c = {row.clause for row in _rows() if row.id == plain}
    return of_c.union(*(test.clauses for test in _torch_tests() if torch_id(test) == plain))


# ------------------------------------------------------------------------------------ clauses ---


@cache
def _mutants() -> tuple[mutants.Mutant, ...]:
    return tuple(mutants.known())


@cache
def _torch_mutants() -> tuple[TorchMutant, ...]:
    return tuple(mutants.of_torch_layer())


def _clause(word: str) -> Iterator[Found]:
    clause = tbk_contracts.clause(word.upper())
    if clause is not None:
        yield Found("clause", clause.id, clause.text, tuple(_facts(clause)))


def _facts(clause: Clause) -> Iterator[tuple[str, str]]:
    yield "level", f"{clause.level}, {clause.kind}, profile {clause.profile}"
    yield "layer", ", ".join(clause.layer)
    for name, value in (("reason", clause.reason), ("needs", clause.needs), ("note", clause.note)):
        if value:
            yield name, value
    if bases := ", ".join(tbk_contracts.bases_of(clause.id)):
        yield "builds on", bases
    for source in clause.source:
        yield "source", source
    for stated in tbk_contracts.header_lines(clause.id):
        yield "header", f"{stated.file}:{stated.number} {stated.function}, {stated.label}"
    for row in tbk_contracts.tests_of(clause.id):
        yield "test", f"{row.id}  ({row.file}:{row.number}){_needing(row.needs)}"
    for test in _torch_tests():
        if clause.id in test.clauses:
            yield "test", f"{torch_id(test)}  ({test.file}:{test.number}){_needing(test.needs)}"
    for mutant in _mutants():
        if clause.id in mutant.clauses and mutant.kind == "mutant":
            yield "mutant", f"{mutant.name}: {line(mutant.note, 200)}"
    for broken in _torch_mutants():
        if clause.id in broken.clauses:
            yield "mutant", f"{broken.name}  ({broken.file}:{broken.number})"


def _area(word: str) -> Iterator[Found]:
    """An area by its name or by the letters of its clauses: "memory", "MEM"."""
    mine = [one for one in tbk_contracts.clauses() if word in (one.area, one.prefix)]
    if not mine:
        return
    rows = sum(len(tbk_contracts.tests_of(one.id)) for one in mine)
    ids = {one.id for one in mine}
    of_torch = sum(bool(ids & set(test.clauses)) for test in _torch_tests())
    levels = Counter(one.level for one in mine)
    facts = (
        ("clauses", f"{mine[0].id} to {mine[-1].id}: "
         + ", ".join(f"{count} {level}" for level, count in levels.items())),
        ("tests", f"{rows} in C, {of_torch} of PyTorch's devices"),
        ("each", f"tbk list --only {word}"),
        ("alone", f"tbk run LIB --only {word}"),
    )  # fmt: skip
    yield Found("area", word, f"{len(mine)} clauses of {mine[0].area}", facts)


# ------------------------------------------------------------------- verdicts and statuses ---


def _verdict(word: str) -> Iterator[Found]:
    plain = word.lower().replace(" ", "-").replace("_", "-")
    if plain in STATE_MEANING:
        ends = "the run fails, exit code 1" if plain in FAILING else "does not fail the run"
        ends = "exit code 6 where it stands alone" if plain == "suite-error" else ends
        more = [("strict", f"--fail-on {plain}")] if plain in STRICT else []
        called = STATE_WORDS.get(plain, plain)
        facts = (("called", called), ("ends with", ends), *more, ("page", "docs/verdicts.md"))
        yield Found("verdict", plain, STATE_MEANING[plain], facts)


STRICT = ("warning", "not-shown", "left-out")


@cache
def statuses() -> dict[str, tuple[int, str]]:
    """Returns the statuses of the interface, from its header: value, and what it says."""
    text = (tbk_contracts.contracts_root() / "include" / "tbk" / "types.h").read_text("utf-8")
    return {name: (int(value), said) for name, value, said in _STATUS.findall(text)}


def _status(word: str) -> Iterator[Found]:
    name = word.upper().removeprefix("TBK_")
    if name in statuses():
        value, said = statuses()[name]
        cited = [
            ("stated by", f"{clause.id}: {clause.text}")
            for clause in tbk_contracts.clauses()
            if re.search(rf"\b{name}\b", clause.text)
        ]
        yield Found("status", f"TBK_{name}", said, (("value", str(value)), *cited))


# ------------------------------------------------------------------------------- capabilities ---


@cache
def _needed() -> dict[str, int]:
    """Returns how many rows of tests in C need each word."""
    found: dict[str, int] = {}
    for row in _rows():
        for word in (row.needs or "").split():
            plain = word.removeprefix("!")
            found[plain] = found.get(plain, 0) + 1
    return found


def _of_header(word: str) -> tuple[str, list[tuple[str, str]]]:
    """Returns what the header says of a capability of the C layer."""
    known = tbk_contracts.interface()
    for table in known.tables:
        if table.name == word and not table.mandatory:
            names = ", ".join(one.name for one in table.functions)
            return f"the table {table.type} is there", [("functions", names)]
        for entry in table.optional_functions:
            if table.word(entry) == word:
                return f"the function {entry.name} is there", [
                    ("header", f"{entry.file}:{entry.number}")
                ]
    if word in known.flags:
        return f"the device sets TBK_DEVICE_{word.upper()}", []
    if word.startswith("op:"):
        return f"the backend offers the operator {word[3:]}", []
    return "tests of the C layer ask for it", []


def _capability(word: str) -> Iterator[Found]:
    if word in _needed() or word in tbk_contracts.interface().words:
        text, facts = _of_header(word)
        tests = [("tests", f"named by {_needed().get(word, 0)} rows")]
        ask = [("require", f"tbk run LIB --require {word}")]
        yield Found("capability", word, text, (("layer", "c"), *facts, *tests, *ask))
    meaning = torch_names.capability_words().get(word)
    if meaning is not None:
        count = sum(word in test.needs.replace("!", "").split() for test in _torch_tests())
        facts = [("tests", f"named by {count}")]
        ask = [("require", f"tbk check NAME --require {word}")]
        yield Found("capability", word, meaning, (("layer", "torch"), *facts, *ask))


# -------------------------------------------------------------------------------------- words ---


def found(word: str) -> list[Found]:
    """Returns all that a word is; a word such as "stream" may be several things."""
    if "/" in word:
        return list(_test(word))
    kinds = (_clause, _area, _verdict, _status, _capability, _profile)
    return [one for kind in kinds for one in kind(word)]


def _profile(word: str) -> Iterator[Found]:
    for one in profiles():
        if one.name == word:
            areas = dict.fromkeys(clause.area for clause in map(tbk_contracts.clause, one.clauses)
                                  if clause is not None)  # fmt: skip
            facts = (
                ("clauses", f"{len(one.clauses)}, mandatory and tested, of {', '.join(areas)}"),
                ("operators", "all" if one.operators is None else ", ".join(one.operators)),
                ("dtypes", "all" if one.dtypes is None else ", ".join(one.dtypes)),
                ("ask", f"tbk run LIB --profile {one.name}"),
            )
            yield Found("profile", one.name, one.text, facts)


def subjects() -> set[str]:
    """Returns all words that something is known of."""
    tests = {row.id for row in _rows()} | {torch_id(test) for test in _torch_tests()}
    words = {*_needed(), *tbk_contracts.interface().words, *torch_names.capability_words()}
    clauses = {word for one in tbk_contracts.clauses() for word in (one.id, one.area, one.prefix)}
    codes = {f"TBK_{name}" for name in statuses()}
    named = {one.name for one in profiles()}
    return tests | words | clauses | codes | named | set(STATE_MEANING)
