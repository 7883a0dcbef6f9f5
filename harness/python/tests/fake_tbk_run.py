#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for tbk-run: takes its arguments, and does what the name of the library says."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "reports" / "tests"))

import fake_torch_layer
import synthetic

REFUSED = {
    "usage.so": (2, "--jobs: 'x' is not a number"),
    "absent.so": (5, "no device can be opened"),
    "text.so": (4, "is not a library that can be loaded"),
    "narrow.so": (3, "nothing selected"),
    "broken.so": (6, "a limit is too small"),
    "killed.so": (-9, ""),
    "silent.so": (8, "\x1b[31mthe disk is full"),
}


def main() -> int:
    if "--check-options" in sys.argv:
        return 0
    if any(word.startswith("--torch-") for word in sys.argv[1:]):
        return fake_torch_layer.main(sys.argv[1:])
    return c_layer()


def c_layer() -> int:
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    flags = [word for word in sys.argv[1:] if word.startswith("--")]
    output = Path(words.pop()) if "--output" in flags else None
    library = Path(words[0]).name.removeprefix("libtbk_")
    only = [flag.partition("=")[2] for flag in flags if flag.startswith("--only=")]
    only += [word for word in words[1:] if "/" in word]
    if "--list" in flags and library != "usage.so":
        for record in synthetic.failing(60):
            print(record["id"], record["clause"], record["level"], "-")
        return 0
    mutant = next(
        (f.rpartition("=")[2] for f in flags if f.startswith("--backend-option=mutant")), ""
    )
    refused = REFUSED.get(library)
    if refused is None and not mutant and not library.endswith(".so"):
        refused = (4, f"{words[0]}: no library")
    if refused is not None and refused[0] < 0:
        os.kill(os.getpid(), -refused[0])
    if refused is not None:
        print(f"tbk-run: {refused[1]}", file=sys.stderr)
        if library == "text.so" and output is not None:
            foot = {"verdict": "error", "exit_code": refused[0], "reason": refused[1]}
            synthetic.write(output, [], synthetic.header(60), foot)
        return refused[0]
    assert output is not None
    if library == "slow.so":
        return slow(output)
    if mutant:
        return as_mutant(output, mutant, only)
    records = (synthetic.failing if library == "bad.so" else synthetic.passing)(60)
    if only:
        suites = {word for word in only if "/" not in word}
        records = [
            record for record in records
            if record["id"] in only or record["id"].partition("/")[0] in suites
        ]  # fmt: skip
    changes = {"capabilities": {"stream": False}} if library == "plain.so" else {}
    synthetic.write(output, records, synthetic.header(len(records), selection=only, **changes))
    return int(synthetic.footer(records, "", len(records))["exit_code"])


def slow(output: Path) -> int:
    """Writes its header, then waits to be interrupted, as tbk-run does at SIGINT."""
    output.write_bytes(synthetic.lines([synthetic.header(2), synthetic.case(0)]))
    signal.signal(signal.SIGINT, lambda *_: interrupted(output))
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(60)
    return 1


def interrupted(output: Path) -> None:
    records = [synthetic.case(0), synthetic.case(1, "not-reached")]
    foot = {"verdict": "error", "exit_code": 7, "reason": "interrupted by SIGINT"}
    synthetic.write(output, records, synthetic.header(2), foot)
    os._exit(7)


def as_mutant(output: Path, mutant: str, only: list[str]) -> int:
    """Each kind of backend fails as its name says."""
    records = [synthetic.case(index) for index in range(60)]
    if mutant.startswith("breaks_"):
        clause = mutant.removeprefix("breaks_").upper().replace("_", "-")
        records = [
            {**record, **({"verdict": "fail"} if record["clause"] == clause else {})}
            for record in records
        ]
    elif mutant.startswith(("cheat_caught", "anti_fails")):
        records[5]["verdict"] = "fail"
    records = [record for record in records if not only or record["id"] in only]
    synthetic.write(output, records, synthetic.header(len(records)))
    return int(synthetic.footer(records, "", len(records))["exit_code"])


if __name__ == "__main__":
    sys.exit(main())
