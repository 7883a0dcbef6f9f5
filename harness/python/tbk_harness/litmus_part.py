# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What litmus programs found, as a part of a run: a test for each kind of edge, and one for how the
programs ended, so that causes, waivers, baselines and reports know nothing special of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tbk_contracts
from tbk_reports.finding import Finding, Record, finding_of
from tbk_reports.litmus import LAYER, SUITE
from tbk_reports.model import EXIT_FINDINGS, EXIT_NOTHING_SELECTED, EXIT_PASS

from tbk_harness.litmus_runner import Hunted

ENDS = f"{SUITE}/programs"  # the test of how programs end, and of what no kind of edge explains
_CONTENTS = "MEM-006"  # what is in memory stays there
_ENDED = {"crash": "crash", "hang": "hang"}
# Which clause a call breaks that is not a matter of order, beside what its function does.
_BROKEN = {
    ("miscounted", "callback"): "CBK-002",
    ("stuck", "event_query"): "EVT-025",
    ("stuck", "stream_query"): "STR-017",
}
_STATES: Mapping[str, Mapping[str, str]] = {
    "proven": {"verdict": "pass", "evidence": "proven"},
    "trivial": {"verdict": "pass", "evidence": "trivial"},
    "not-shown": {"verdict": "not-shown", "evidence": "not-shown"},
    "broken": {"verdict": "fail"},
}


@dataclass(frozen=True)
class Subject:
    """What the records say of the run itself."""

    replay: str = ""  # the command that runs the program of the finding again
    code: str = ""  # the finding as a C file
    left_out: str = ""  # why no program was run, though the device may have what they need
    missing: str = ""  # the capability without which there is nothing to order


def _test(name: str, clause: str, **more: Any) -> dict[str, Any]:
    known = tbk_contracts.clause(clause)
    return {
        "record": "test",
        "index": 0,
        "id": name,
        "suite": SUITE,
        "clause": clause,
        "level": known.level if known else "must",
        "profile": known.profile if known else "",
        "layer": LAYER,
        **more,
    }


def name_of(kind: Record) -> str:
    """Returns the id of the test of a kind of edge."""
    return f"{SUITE}/{str(kind.get('kind', '')).lower()}"


def _called(finding: Finding) -> str:
    """Returns the function of the call that went wrong, at the end the one that waits for all."""
    call = finding.read
    if call is None or not 0 <= call < len(finding.calls):
        return "device_synchronize"
    # "thread 1: " may stand before it.
    return finding.calls[call].rpartition(": ")[2].partition("(")[0]


def clause_of(finding: Finding) -> str:
    """Returns the clause that a finding breaks which accuses no kind of edge."""
    if finding.clauses:
        return finding.clauses[0]
    if finding.outcome == "wrong":
        return _CONTENTS
    called = _called(finding)
    special = _BROKEN.get((finding.outcome, called), "")
    if finding.outcome in ("miscounted", "stuck") and not special:
        special = _BROKEN["miscounted", "callback"]
    function = {"callback": "callback_enqueue"}.get(called, called)
    refused = tbk_contracts.refused_clause(function, finding.status.removeprefix("TBK_"))
    return special or refused or tbk_contracts.main_clause(function) or _CONTENTS


def _failure(finding: Finding, clauses: Sequence[str], subject: Subject) -> dict[str, Any]:
    """Returns what a failing test says; the first one brings the program and the picture."""
    said = "; ".join(part for part in (finding.words, finding.said) if part)
    return {
        "cause": f"order/{finding.outcome}/{'+'.join(clauses)}",
        "expected": finding.seen.partition("; legal: ")[2],
        "seen": finding.seen.partition(";")[0] or said,
        "what": "; ".join(finding.calls),
        "blame": "backend",
        "phase": "body",
        "replay": subject.replay,
    }


def _of_kind(kind: Record, edge: Record | None, hunted: Hunted, subject: Subject) -> dict[str, Any]:
    """Returns the record of a kind of edge, but for what a finding says."""
    name, clause = name_of(kind), str(kind.get("clause", ""))
    if subject.missing:
        return _test(name, clause, verdict="unsupported", needs_missing=subject.missing)
    if subject.left_out:
        return _test(name, clause, verdict="left-out", evidence_reason=subject.left_out)
    if edge is not None:
        state = _STATES.get(str(edge.get("state")), _STATES["not-shown"])
        why = edge.get("why")
        reason = {"evidence_reason": f"litmus programs: {why}"} if why else {}
        return _test(name, clause, **state, **reason, facts={"edge": dict(edge)})
    if hunted.answered:
        return _test(name, clause, verdict="unsupported", needs_missing=str(kind.get("needs", "")))
    return _test(name, clause, **_unanswered(hunted))


def _unanswered(hunted: Hunted) -> dict[str, str]:
    """Returns what a test says where tbk-litmus has no answer: a device without room for a program
    in its time showed nothing; anything else ended the run."""
    if hunted.code == EXIT_NOTHING_SELECTED:
        return {"verdict": "not-shown", "evidence": "not-shown", "evidence_reason": hunted.said}
    return {"verdict": "not-reached", "notes": hunted.said}


def _of_ends(hunted: Hunted, finding: Finding | None, subject: Subject) -> dict[str, Any]:
    """Returns the record of how programs end; `finding` is one that accuses no kind of edge."""
    if subject.missing:
        return _test(ENDS, _CONTENTS, verdict="unsupported", needs_missing=subject.missing)
    if subject.left_out:
        return _test(ENDS, _CONTENTS, verdict="left-out", evidence_reason=subject.left_out)
    if not hunted.answered:
        return _test(ENDS, _CONTENTS, **_unanswered(hunted))
    if finding is None:
        return _test(ENDS, _CONTENTS, verdict="pass")
    clause = clause_of(finding)
    verdict = _ENDED.get(finding.outcome, "fail")
    return _test(ENDS, clause, verdict=verdict, **_failure(finding, (clause,), subject))


def tests(kinds: Sequence[Record], hunted: Hunted, subject: Subject) -> list[dict[str, Any]]:
    """Returns the records of all tests, the same ones whatever happened."""
    edges = {one.get("kind"): one for one in hunted.records if one.get("record") == "litmus-edge"}
    raw = hunted.finding
    finding = finding_of(raw) if raw is not None else None
    accuses = any(edge.get("state") == "broken" for edge in edges.values())
    found = [_of_ends(hunted, None if accuses else finding, subject)]
    found += [_of_kind(kind, edges.get(kind.get("kind")), hunted, subject) for kind in kinds]
    if finding is not None and raw is not None:
        _accuse(found, finding, raw, subject)
    footer = next((one for one in hunted.records if one.get("record") == "litmus-footer"), None)
    if footer is not None:
        facts = found[0].setdefault("facts", {})
        facts["footer"] = dict(footer)
    return found


def _accuse(found: list[dict[str, Any]], finding: Finding, raw: Record, subject: Subject) -> None:
    failing = [one for one in found if one["verdict"] == "fail" and one["id"] != ENDS]
    for one in failing:
        one.update(_failure(finding, finding.clauses, subject))
        one["verdict"] = _ENDED.get(finding.outcome, "fail")
    first = failing[0] if failing else found[0]
    facts = {**first.get("facts", {}), "finding": dict(raw)}
    first["facts"] = facts | ({"program": subject.code} if subject.code else {})


def unwritten(hunted: Hunted) -> str | None:
    """Returns what is to be said of a finding whose file could not be written."""
    if hunted.finding is None or hunted.wrote:
        return None
    return f"litmus programs found a fault, and its file is not there: {hunted.said}"


def document(
    records: Sequence[Mapping[str, Any]], header: Mapping[str, Any], hunted: Hunted, tier: str
) -> bytes:
    """Returns the part as a result file, with a header like that of the layer before."""
    kept = {name: header[name] for name in _SHARED if name in header}
    verdicts = [str(one["verdict"]) for one in records]
    failing = any(one in ("fail", "crash", "hang") for one in verdicts)
    torn = "not-reached" in verdicts
    code = hunted.code if torn else EXIT_FINDINGS if failing else EXIT_PASS
    footer = {
        "record": "footer",
        "counts": {one: verdicts.count(one) for one in verdicts},
        "planned": len(records),
        "recorded": len(records),
        "verdict": "error" if torn else "fail" if failing else "pass",
        "exit_code": code,
        "reason": f"the litmus programs were not run: {hunted.said}" if torn else unwritten(hunted),
    }
    head = {**kept, "record": "header", "layer": LAYER, "planned": len(records), "tier": tier}
    lines = [head, *records, footer]
    return b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in lines)


_SHARED = ("format", "suite", "spec", "backend", "command", "started")
