# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import lxml.html
import pytest
from invoke import STAND_IN, Tbk
from tbk_harness import kill
from tbk_harness.kill import (
    Matrix,
    Row,
    parse_list,
    parse_thorough,
    sample,
    selection,
)
from tbk_harness.kill_document import document
from tbk_harness.mutants import (
    Mutant,
    MutantError,
    first_of_each,
    named,
    next_of,
    parse,
    parse_equivalents,
)
from tbk_reports.matrix import render_matrix_html, render_matrix_markdown

TESTS = {"memory/a": "MEM-001", "memory/b": "MEM-002", "copy/c": "CPY-001"}


def _mutant(name: str = "m", clause: str = "MEM-001", kind: str = "mutant") -> Mutant:
    return Mutant(name, (clause,) if clause else (), kind, "RETURN", False, "breaks it")


def _row(mutant: Mutant, *killers: str, code: int | None = None) -> Row:
    citing = tuple(test for test in killers if TESTS[test] in mutant.clauses)
    stated = code if code is not None else int(bool(killers))
    return Row(mutant, tuple(TESTS), killers, citing, stated, "")


def _matrix(*rows: Row, **changes: object) -> Matrix:
    matrix = Matrix(tests=TESTS, rows=list(rows), must=("MEM-001",))
    return dataclasses.replace(matrix, **changes)  # type: ignore[arg-type]


GOOD = (
    _row(_mutant(), "memory/a"),
    _row(_mutant("odd", "", "anti")),
    _row(_mutant("nothing", "", "cheat"), "memory/a", "memory/b"),
)


def test_a_good_matrix_has_no_problem() -> None:
    assert _matrix(*GOOD).problems == []


def test_a_survivor_is_a_problem() -> None:
    found = _matrix(*GOOD, _row(_mutant("live", "MEM-002")))
    assert [row.mutant.name for row in found.survivors] == ["live"]
    assert "live survives" in found.problems[0]


def test_a_kill_by_a_test_that_does_not_cite_the_clause_is_none() -> None:
    found = _matrix(_row(_mutant(), "copy/c"))
    assert found.unproven == ["MEM-001"]
    assert "does not cite MEM-001" in found.problems[0]


def test_an_anti_mutant_that_fails_and_a_cheat_that_passes_are_problems() -> None:
    anti = _row(_mutant("odd", "", "anti"), "memory/b")
    cheat = _row(_mutant("nothing", "", "cheat"))
    assert [row.mutant.name for row in _matrix(anti).false_failures] == ["odd"]
    assert [row.mutant.name for row in _matrix(cheat).passing_cheats] == ["nothing"]
    assert len(_matrix(GOOD[0], anti, cheat).problems) == 2


def test_an_anti_mutant_that_cannot_run_is_no_pass() -> None:
    assert _matrix(GOOD[0], _row(_mutant("odd", "", "anti"), code=4)).problems


def test_what_is_refused_before_any_test_is_noticed_but_defends_no_clause() -> None:
    found = _matrix(_row(_mutant(), code=4), _row(_mutant("none", "", "cheat"), code=5))
    assert not found.survivors
    assert not found.passing_cheats
    assert found.unproven == ["MEM-001"]


def test_a_must_clause_without_a_mutant_is_a_problem() -> None:
    found = _matrix(*GOOD, must=("MEM-001", "CPY-001"))
    assert found.unproven == ["CPY-001"]
    assert found.problems
    assert not _matrix(*GOOD, must=("MEM-001", "CPY-001"), partial=True).problems


def test_equivalents_are_few_true_and_there() -> None:
    live = _row(_mutant("live", "MEM-002"))
    many = [_row(_mutant(f"m{index}"), "memory/a") for index in range(60)]
    assert not _matrix(*many, live, equivalents={"live": "why"}).problems
    assert "more than 2%" in _matrix(*GOOD, live, equivalents={"live": "why"}).problems[0]
    assert "is killed by" in _matrix(*many, equivalents={"m1": "why"}).problems[0]
    assert "is no mutant" in _matrix(*many, equivalents={"gone": "why"}).problems[0]


def test_tests_that_kill_nothing_are_listed() -> None:
    assert _matrix(*GOOD).idle_tests == ["copy/c", "memory/b"]


def test_the_sample_is_the_same_each_time_and_differs_from_mutant_to_mutant() -> None:
    tests = [f"s/{index}" for index in range(300)]
    assert sample(tests, "m", 1, 0.02) == sample(reversed(tests), "m", 1, 0.02)
    assert len(sample(tests, "m", 1, 0.02)) == 6
    assert len({tuple(sample(tests, f"m{i}", 1, 0.02)) for i in range(20)}) > 15
    assert sample([], "m", 1, 0.02) == []


def test_who_meets_which_tests() -> None:
    quick, thorough = selection(_mutant(), _matrix())
    assert (quick[0], len(quick), thorough) == ("memory/a", 2, [])
    assert selection(_mutant(), _matrix(full=True)) == ([], [])
    assert selection(_mutant(), _matrix(share=0)) == (["memory/a"], [])
    assert selection(_mutant("odd", "", "anti"), _matrix()) == ([], [])


def test_one_mutant_of_each_clause_and_fault_is_the_first() -> None:
    names = [f"{function}/{fault}/MEM-001" for fault in ("swallows", "answers_another")
             for function in ("upload", "free")]  # fmt: skip
    pairs = [_mutant(name, "MEM-001", "pair") for name in names]
    others = [_mutant("b", "MEM-002"), _mutant("odd", "", "anti"), _mutant("c", "", "cheat")]
    found = first_of_each([_mutant(), _mutant("again"), *pairs, *others])
    assert found == [_mutant(), pairs[0], pairs[2], *others]
    assert next_of(["MEM-001", "MEM-009"], [_mutant(), *pairs, _mutant("again")], {"m"}) == [
        _mutant("again")
    ]


def test_legal_devices_share_the_tests() -> None:
    odd = [_mutant(f"odd {i}", "", "anti") for i in range(60)]
    parts = [kill.task(_matrix(legal_parts=3), one, ("-x",)).options for one in odd]
    assert {one[0] for one in parts} == {"-x"}
    assert {one[1] for one in parts} == {f"--shard={i}/3" for i in (1, 2, 3)}
    assert all(parts.count(one) > 10 for one in parts)
    assert kill.task(_matrix(), odd[0], ()).options == ()
    assert kill.task(_matrix(legal_parts=3), _mutant(), ()).options == ()
    found = document(_matrix(*GOOD, legal_parts=3))
    assert "parts of the tests, one for each anti-mutant | 3 |" in render_matrix_markdown(found)


PAIR = "upload/swallows/MEM-001"


def test_a_pair_that_no_citing_test_notices_is_a_problem() -> None:
    killed = _row(_mutant(PAIR, kind="pair"), "memory/a")
    assert _matrix(*GOOD, killed).problems == []
    live = _row(_mutant(PAIR, kind="pair"), "copy/c")
    found = _matrix(*GOOD, live, partial=True)
    assert [row.mutant.name for row in found.surviving_pairs] == [PAIR]
    assert "MEM-001 is not proved of upload" in found.problems[0]
    assert _matrix(killed).unproven == ["MEM-001"]  # a clause needs mutants of its own


def test_a_pair_meets_the_citing_tests_that_call_its_function() -> None:
    pair = _mutant(PAIR, kind="pair")
    tests = {"memory/a": "MEM-001", "memory/d": "MEM-001", "copy/c": "CPY-001"}
    assert selection(pair, _matrix(tests=tests, full=True)) == (["memory/a", "memory/d"], [])
    calls = {"memory/a": frozenset({"fill"}), "memory/d": frozenset({"upload"})}
    assert selection(pair, _matrix(tests=tests, calls=calls)) == (["memory/d"], [])
    calls["memory/a"] = frozenset()  # unsupported there: nobody knows
    assert selection(pair, _matrix(tests=tests, calls=calls))[0] == ["memory/a", "memory/d"]


def test_pairs_are_told_by_kind_of_fault() -> None:
    live = _row(_mutant("fill/swallows/MEM-001", kind="pair"))
    found = document(_matrix(*GOOD, _row(_mutant(PAIR, kind="pair"), "memory/a"), live))
    assert "| `swallows` | MEM-001 | 1 of 2 | `upload`, `fill` |" in render_matrix_markdown(found)
    page = lxml.html.document_fromstring(render_matrix_html(found))
    section = page.xpath("//section[@aria-labelledby='pairs']")[0].text_content()
    assert "1 of 2 noticed" in section
    assert "fill/swallows/MEM-001" in section.replace("\u200b", "")


def test_a_thorough_test_waits_until_the_quick_ones_saw_nothing() -> None:
    slow = {**TESTS, "sweep/a": "MEM-001"}
    quick, thorough = selection(_mutant(), _matrix(tests=slow, thorough=frozenset({"sweep/a"})))
    assert quick[0] == "memory/a"
    assert thorough == ["sweep/a"]
    listed = "memory/a MEM-001 must - quick\nsweep/a MEM-001 must op:mm mm thorough\n"
    assert parse_thorough(listed) == {"sweep/a"}


def test_who_is_cited_by_thorough_tests_alone_meets_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run without a name of a test would be one of the whole suite."""
    asked: list[tuple[str, ...]] = []

    def run_one(_library: Path, mutant: Mutant, only: Sequence[str], _options: object) -> Row:
        asked.append(tuple(only))
        return _row(mutant, "memory/a")

    monkeypatch.setattr(kill, "run_one", run_one)
    matrix = _matrix(share=0, thorough=frozenset({"memory/a"}))
    assert kill.judge(Path("library"), matrix, _mutant(), ()).citing == ("memory/a",)
    assert asked == [("memory/a",)]


def test_what_survives_is_run_again_alone_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    late, never, legal = _mutant("late"), _mutant("never"), _mutant("odd", kind="anti")
    asked: list[str] = []

    def judge(_library: Path, _matrix: Matrix, mutant: Mutant, _options: object) -> Row:
        asked.append(mutant.name)
        return _row(mutant, "memory/a") if mutant is late else _row(mutant)

    monkeypatch.setattr(kill, "judge", judge)
    matrix = _matrix(_row(late), _row(never), _row(legal, "memory/a"))
    kill.again(Path("library"), matrix, ())
    assert asked == ["late", "never"]
    assert [row.mutant.name for row in matrix.survivors] == ["never"]
    assert [row.runs for row in matrix.rows] == [2, 2, 1]
    assert "| killed at the second run | 1 |" in render_matrix_markdown(document(matrix))


def test_lists_are_read() -> None:
    assert parse_list("memory/a MEM-001 must -\nnonsense\n") == {"memory/a": "MEM-001"}
    (mutant,) = parse('{"name":"m","clause":"MEM-001, MEM-002","kind":"mutant","narrow":true}\n')
    assert mutant.clauses == ("MEM-001", "MEM-002")
    assert mutant.narrow
    for bad in ("nonsense", "{}", "[]", '{"name":"m","kind":"anti"}\n' * 2):
        with pytest.raises(MutantError):
            parse(bad)


def test_equivalents_are_read_strictly() -> None:
    entry = '[[equivalent]]\nmutant = "m"\nreason = "why"\n'
    assert parse_equivalents(entry, "e") == {"m": "why"}
    for bad in (
        "[[equivalents]]\n",
        entry + "x = 1\n",
        entry * 2,
        '[[equivalent]]\nmutant = "m"\n',
        "[",
    ):
        with pytest.raises(MutantError):
            parse_equivalents(bad, "e")


def test_page_and_markdown_say_what_the_matrix_says() -> None:
    found = document(_matrix(*GOOD, _row(_mutant("live", "MEM-002"))))
    page = lxml.html.document_fromstring(render_matrix_html(found))
    words = page.text_content()
    assert "Not every check is known to be able to fail" in words
    assert "survives" in words
    assert "default-src 'none'" in page.xpath("//meta[@http-equiv]/@content")[0]
    assert "| survive | 1 |" in render_matrix_markdown(found)
    good = document(_matrix(*GOOD))
    assert "Every check can fail" in render_matrix_html(good)
    assert render_matrix_markdown(good).startswith("## PASS")


def _listing(tmp_path: Path, *names: str) -> str:
    rows = []
    for name in names:
        kind = name.split("_")[0]
        rows.append({"name": name, "kind": kind if kind in ("anti", "cheat") else "mutant",
                     "clause": name.removeprefix("breaks_").upper().replace("_", "-"),
                     "operator": "x", "narrow": False, "note": "n"})  # fmt: skip
    program = tmp_path / "tbk-mutants"
    text = "\n".join(map(json.dumps, rows))
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
    program.chmod(0o755)
    return str(program)


def test_the_command_from_end_to_end(tbk: Tbk, tmp_path: Path) -> None:
    library = str(STAND_IN)
    listing = _listing(tmp_path, "breaks_mem_001", "anti_calm", "cheat_caught")
    ended = tbk("kill-matrix", "--library", library, TBK_MUTANTS=listing)
    assert "1 of 1 mutants killed by a citing test" in ended.stdout, ended.stderr
    assert "1 anti-mutants, 1 cheats" in ended.stdout
    assert ended.returncode == 1  # the other must clauses have no mutant here
    brief = tbk("kill-matrix", "--library", library, "--brief", TBK_MUTANTS=listing)
    assert "one of each clause; 1 of" in brief.stdout
    assert brief.returncode == 1
    part = tbk("kill-matrix", "--library", library, "--only", "MEM-001", TBK_MUTANTS=listing)
    assert part.returncode == 0, part.stdout
    found = json.loads((tmp_path / "tbk-kill-matrix" / "matrix.json").read_text())
    assert found["rows"][0]["citing"]
    assert tbk("kill-matrix", "--library", "none.so").returncode == 4


@pytest.mark.parametrize("name", ["breaks_nothing", "anti_fails", "cheat_passes"])
def test_the_command_fails_for_each_reason(tbk: Tbk, tmp_path: Path, name: str) -> None:
    listing = _listing(tmp_path, name)
    library = str(STAND_IN)
    ended = tbk("kill-matrix", "--library", library, "--only", name, TBK_MUTANTS=listing)
    assert ended.returncode == 1
    assert name in ended.stdout


@pytest.mark.parametrize(
    ("words", "names", "missing"),
    [
        ((), "abc", []),
        (("b",), "b", []),
        (("MEM-001", "c"), "ac", []),
        (("MEM",), "ab", []),
        (("copying",), "c", []),
        (("MEM-001", "nothing"), "a", ["nothing"]),
    ],
)
def test_a_word_names_mutants_clauses_or_areas(
    words: tuple[str, ...], names: str, missing: list[str]
) -> None:
    every = [_mutant("a"), _mutant("b", "MEM-002"), _mutant("c", "CPY-001"), _mutant("", "")]
    areas = {"MEM-001": "memory", "MEM-002": "memory", "CPY-001": "copying"}
    found, unknown = named(every, words, areas)
    assert "".join(one.name for one in found) == names
    assert unknown == missing
