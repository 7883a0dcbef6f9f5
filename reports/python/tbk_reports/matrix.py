# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The kill matrix as a page and as Markdown, from its JSON alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import text
from .html import page
from .markdown import code, escape

Row = Mapping[str, Any]


def _state(row: Row, equivalents: Mapping[str, str]) -> str:
    """Returns a state that the page knows how to mark."""
    if row["kind"] == "anti":
        return "pass" if row["exit_code"] == 0 else "fail"
    if row["kind"] == "cheat":
        caught = row["refused"] or (row["exit_code"] == 1 and row["killers"])
        return "pass" if caught else "fail"
    if row["citing"] or row["refused"]:
        return "pass"
    return "unsupported" if row["name"] in equivalents else "fail"


WORDS = {
    ("mutant", "pass"): "killed",
    ("mutant", "fail"): "survives",
    ("mutant", "unsupported"): "equivalent",
    ("anti", "pass"): "passes, as it must",
    ("anti", "fail"): "fails, though legal",
    ("cheat", "pass"): "found out",
    ("cheat", "fail"): "passes, though a cheat",
}


def _words(row: Row, state: str) -> str:
    if row["refused"]:
        return "refused at once"
    again = ", at the second run" if row["runs"] > 1 and state == "pass" else ""
    return WORDS[(row["kind"], state)] + again


def _shown(row: Row, document: Mapping[str, Any]) -> dict[str, Any]:
    state = _state(row, document["equivalents"])
    return {
        **row,
        "state": state,
        "words": _words(row, state),
        "others": len(row["killers"]) - len(row["citing"]),
        "reason": document["equivalents"].get(row["name"], ""),
    }


def _clauses(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One line a checked must clause: its mutants and how many of them are killed."""
    wanted = [] if document["partial"] else document["must"]
    by_clause: dict[str, list[Row]] = {clause: [] for clause in wanted}
    for row in document["rows"]:
        if row["kind"] == "mutant":
            for clause in row["clauses"]:
                by_clause.setdefault(clause, []).append(row)
    tests = document["tests"]
    return [
        {
            "id": clause,
            "must": clause in document["must"],
            "mutants": len(rows),
            "killed": sum(bool(row["citing"]) for row in rows),
            "narrow": sum(bool(row["citing"]) and row["narrow"] for row in rows),
            "tests": [test for test, cited in tests.items() if cited == clause],
            "state": "pass" if any(row["citing"] for row in rows) else "fail",
        }
        for clause, rows in sorted(by_clause.items())
    ]


def _faults(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns one line a kind of fault: the pairs of clause and function that it befalls."""
    found: dict[str, list[Row]] = {}
    for row in document["rows"]:
        if row["kind"] == "pair":
            found.setdefault(row["fault"], []).append(row)
    return [
        {
            "fault": fault,
            "clauses": sorted({clause for row in rows for clause in row["clauses"]}),
            "pairs": len(rows),
            "killed": sum(bool(row["citing"]) for row in rows),
            "functions": list(dict.fromkeys(row["function"] for row in rows)),
            "surviving": [row["name"] for row in rows if not row["citing"]],
            "state": "pass" if all(row["citing"] for row in rows) else "fail",
        }
        for fault, rows in found.items()
    ]


def _summary(document: Mapping[str, Any]) -> dict[str, int]:
    broken = [row for row in document["rows"] if row["kind"] == "mutant"]
    states = [_state(row, document["equivalents"]) for row in broken]
    counted = {
        "mutants": len(broken),
        "killed": sum(bool(row["citing"]) for row in broken),
        "refused while loading": sum(not row["citing"] and row["refused"] for row in broken),
        "survive": states.count("fail"),
        "equivalent": states.count("unsupported"),
        "anti-mutants": sum(row["kind"] == "anti" for row in document["rows"]),
        "cheats": sum(row["kind"] == "cheat" for row in document["rows"]),
    }
    if document["legal_parts"] > 1:
        counted["parts of the tests, one for each anti-mutant"] = document["legal_parts"]
    late = sum(bool(row["citing"]) and row["runs"] > 1 for row in document["rows"])
    if late:
        counted["killed at the second run"] = late
    if document.get("brief"):
        counted["mutants of each clause"] = 1
    pairs = [row for row in document["rows"] if row["kind"] == "pair"]
    if pairs:
        counted["faults of pairs"] = len(pairs)
        counted["noticed"] = sum(bool(row["citing"]) for row in pairs)
    if document["partial"]:
        return counted
    must = len(document["must"])
    return {**counted, "must clauses": must, "defended": must - len(document["unproven"])}


def render_matrix_html(document: Mapping[str, Any]) -> str:
    groups = [
        (title, [_shown(row, document) for row in document["rows"] if row["kind"] == kind])
        for kind, title in (("mutant", "Mutants"), ("anti", "Anti-mutants"), ("cheat", "Cheats"))
    ]
    context = {
        "document": document,
        "summary": _summary(document),
        "clauses": _clauses(document),
        "faults": _faults(document),
        "groups": [(title, rows) for title, rows in groups if rows],
    }
    return page(
        "matrix.html.j2", context, {"good": document["good"], "rows": len(document["rows"])}
    )


def _pair_lines(document: Mapping[str, Any]) -> list[str]:
    """Returns what is proved of each function that states a clause, a line for each kind of
    fault.
    """
    faults = _faults(document)
    if not faults:
        return []
    lines = ["", "### Pairs of clause and function", "",
             "| fault | clauses | noticed | befalls |", "|---|---|---:|---|"]  # fmt: skip
    for fault in faults:
        functions = ", ".join(code(one) for one in fault["functions"])
        lines.append(
            f"| {code(fault['fault'])} | {escape(' '.join(fault['clauses']))} | "
            f"{fault['killed']} of {fault['pairs']} | {functions} |"
        )
    return lines


def render_matrix_markdown(document: Mapping[str, Any]) -> str:
    summary = _summary(document)
    passed = "PARTIAL" if document["partial"] else "PASS"
    word = passed if document["good"] else "FAIL"
    lines = [f"## {word}: kill matrix", "", "| what | how many |", "|---|---:|"]
    lines += [f"| {name} | {count} |" for name, count in summary.items()]
    lines.append("")
    for problem in document["problems"][:50]:
        lines.append(f"* {escape(problem)}")
    if len(document["problems"]) > 50:
        lines.append(f"* and {len(document['problems']) - 50} more")
    lines += _pair_lines(document)
    lines += ["", "| mutant | clause | killed by | also by |", "|---|---|---|---:|"]
    for row in document["rows"]:
        if row["kind"] == "mutant":
            shown = _shown(row, document)
            killers = ", ".join(code(test) for test in row["citing"][:3]) or shown["words"]
            clauses = escape(" ".join(row["clauses"]))
            lines.append(f"| {code(row['name'])} | {clauses} | {killers} | {shown['others']} |")
    if document["equivalents"]:
        lines += ["", "### Equivalent", ""]
        lines += [f"* {code(name)}: {escape(why)}" for name, why in document["equivalents"].items()]
    if document["idle_tests"]:
        lines += ["", "### Tests that killed nothing they met", ""]
        lines += [f"* {code(test)}" for test in document["idle_tests"][:200]]
    lines += ["", f"Sample seed {document['seed']}{', in full' if document['full'] else ''}."]
    return "\n".join(text.clean(row) for row in lines) + "\n"
