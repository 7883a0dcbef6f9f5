#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for tbk-litmus: tells its kinds of edges, and what the name of the library says."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

KINDS = (("STREAM", "STR-001", "event"), ("WAIT", "EVT-018", "event"),
         ("CALLBACK_AFTER", "CBK-003", "callback"))  # fmt: skip
FINDING = {
    "record": "litmus-finding", "outcome": "wrong", "call": -1, "message": "",
    "clauses": ["STR-001", "EVT-018"], "size_bytes": 1, "read": 2, "wrote": 0, "over": 1,
    "program": ["fill(m0, 0x20, s0)", "event_wait(s1, e0)"], "lanes": ["s0", "s1"],
    "chain": [{"from": 0, "to": 1, "kind": "WAIT", "clause": "EVT-018", "text": "a wait"}],
    "moved": [], "reason": ["the end: m0 holds 0x01 at byte 0; legal: 0x20"],
    "seed": 1, "index": 7, "calls_before": 9, "shown": 20, "replays": 20, "repeats": 1,
}  # fmt: skip
IN_COMPANY = {**FINDING, "alone_shown": 0, "alone_runs": 3}
NEVER_AGAIN = {**IN_COMPANY, "shown": 0}
CRASH = {**FINDING, "outcome": "crash", "call": 1, "message": "signal 11", "clauses": [],
         "chain": [], "reason": []}  # fmt: skip
FOUND = {"wrong.so": [FINDING], "unwritten.so": [FINDING], "dead.so": [CRASH],
         "company.so": [IN_COMPANY], "never.so": [NEVER_AGAIN]}  # fmt: skip
WITHOUT_RECORDS = {
    "odd.so": (4, "the library cannot be loaded twice", ""),
    "idle.so": (3, "the time was over before a program was run", ""),
    "nowhere.so": (8, "litmus.jsonl: could not be written", "FOUND: a fault that is in no file\n"),
}


def kind(name: str, clause: str, **more: object) -> dict[str, object]:
    return {"kind": name, "clause": clause, "text": f"what {clause} says", **more}


def edges(state: str) -> list[dict[str, object]]:
    numbers = {"tried": 9, "controls": 9, "shown": 3, "one_in": 5, "why": ""}
    return [
        kind("STREAM", "STR-001", record="litmus-edge", state=state, **numbers),
        kind("WAIT", "EVT-018", record="litmus-edge", state=state, **numbers),
    ]


def main() -> int:
    if "--kinds" in sys.argv:
        for name, clause, needs in KINDS:
            print(json.dumps(kind(name, clause, record="litmus-kind", needs=needs)))
        return 0
    library = Path(sys.argv[1]).name
    if os.environ.get("TBK_LITMUS_STOPS"):
        return 6
    if library in WITHOUT_RECORDS:
        code, said, printed = WITHOUT_RECORDS[library]
        print(f"tbk-litmus: {said}", file=sys.stderr)
        print(printed, end="")
        return code
    findings = FOUND.get(library, [])
    footer = {"record": "litmus-footer", "programs": 100, "controls": 30, "milliseconds": 500,
              "processes": 1 if "--processes=1" in sys.argv else 40}  # fmt: skip
    states = edges("broken" if FINDING in findings else "proven")
    output = next(one for one in sys.argv if one.startswith("--output=")).partition("=")[2]
    unwritten = "litmus.c: could not be written" if library == "unwritten.so" else ""
    if unwritten:
        print(f"tbk-litmus: {unwritten}", file=sys.stderr)
        footer |= {"exit_code": 8, "reason": unwritten}
    records = [*findings, *states, footer]
    Path(output).write_text("".join(json.dumps(one) + "\n" for one in records))
    if unwritten:
        return 8
    if findings:
        (Path(output).parent / "litmus.c").write_text("int main(void) { return 1; }\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
