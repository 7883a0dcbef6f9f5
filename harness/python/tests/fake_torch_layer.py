# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The stand-in for tbk-run, for the torch layer: each device fails in its own way."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import synthetic

COUNT = 60
# By index modulo 10: what a device can fail by.
CAUSES: dict[int, tuple[str, str, dict[str, Any]]] = {
    1: ("fail", "wrong-everywhere", {"seen": "2 is 3"}),
    2: ("fail", "wrong-through-the-bridge", {"seen": "the stream is lost"}),
    3: ("fail", "wrong-here", {"seen": "Could not run 'aten::add.out' with arguments"}),
    4: ("crash", "crash/body/SIGSEGV", {}),
}
FAILS = {
    "acme": {1, 2, 3, 4},
    "libacme.so": {1, 2, 3, 4},
    "half": {3},
    "sound": set(),
    "good.so": set(),
    "bad.so": {3},
    "cpu": {1},
    "libtbk_cpu.so": {2},
    "libtbk_template.so": {2},
}
WORDS = ("accelerator", "stream", "event", "dtype:float64")


def _joined(words: list[str]) -> list[str]:
    """--name=value for each option, also where they are two words."""
    found: list[str] = []
    for word in words:
        if word.startswith("--") or not found or "=" in found[-1]:
            found.append(word)
        else:
            found[-1] += f"={word}"
    return found


def _value(flags: list[str], name: str) -> str:
    return next((f.partition("=")[2] for f in flags if f.startswith(f"--{name}=")), "")


def _record(index: int, fails: set[int]) -> synthetic.Record:
    verdict, cause, changes = CAUSES.get(index % 10, ("pass", "", {}))
    if index % 10 not in fails:
        return synthetic.torch_case(index)
    made = synthetic.torch_case(index, verdict, cause=cause, blame="backend", **changes)
    return {**made, "replay": f"tbk-run --torch-device acme --only {made['id']}"}


def _header(flags: list[str], subject: str, planned: int, **changes: Any) -> synthetic.Record:
    facts = _value(flags, "facts")
    text = Path(facts).read_text() if facts else ""
    declared = {word: f"{word} = true" in text.replace('"', "") for word in WORDS}
    probed = {word: word != "stream" for word in WORDS}
    notes = {
        word: "declared, and its probe fails: RuntimeError: no streams"
        if declared[word]
        else "not declared, and its probe succeeds"
        for word in WORDS
        if facts and declared[word] != probed[word]
    }
    torch: dict[str, Any] = {
        "device": subject,
        "version": "2.13.0",
        "imports": [],
        "declared": facts or None,
    }
    return synthetic.header(
        planned, layer="torch", torch=torch, capability_notes=notes,
        capabilities=declared if facts else probed, **changes,
    )  # fmt: skip


def main(words: list[str]) -> int:
    """As tbk-run does with --torch-device or --torch-library."""
    flags, output = _joined(words), Path(words[words.index("--output") + 1])
    subject = _value(flags, "torch-device") or Path(_value(flags, "torch-library")).name
    if subject == "nosuch":
        print("tbk-run: nosuch: importing what makes it known: no such device", file=sys.stderr)
        return 5
    if os.environ.get("FAKE_IMPORT_FAILS"):
        foot = {"verdict": "error", "exit_code": 6, "reason": os.environ["FAKE_IMPORT_FAILS"]}
        synthetic.write(output, [], _header(flags, subject, 0), foot)
        return 6
    only = [flag.partition("=")[2] for flag in flags if flag.startswith("--only=")]
    budget = _value(flags, "budget")
    spent = subject in os.environ.get("FAKE_BUDGET_SPENT_ON", "").split()
    records = []
    for index in range(COUNT):
        made = _record(index, FAILS[subject])
        if only and made["id"] not in only and "torch_operators" not in only:
            continue
        late = budget and (float(budget) < 1 or spent or index >= COUNT // 2)
        records.append(synthetic.torch_case(index, "left-out") if late else made)
    head = _header(flags, subject, len(records), selection=only)
    synthetic.write(output, records, head)
    return int(synthetic.footer(records, "", len(records))["exit_code"])
