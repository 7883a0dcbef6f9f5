# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Each function of the ABI answers each status, and one that is none: no test is at fault itself.

    answers.py [--calls NAME...] [--answers N...] [--after N...] [--jobs J]

A library that answers nonsense is a finding. Where its answers drive a test into a suite error, the
test is wrong, and hides what others found. Prints one line for each such test, and exits with 1.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import re
import sys
import tempfile
import time
from pathlib import Path

from runs import LIB, ROOT, read, run

ANSWERS = LIB / "hostile" / "libtbk_answers.so"
TABLES = ROOT / "contracts" / "include" / "tbk" / "tables.h"
UNWRAPPED = ("launch_plan", "plan_destroy")
STATUSES = (*range(9), 16)
QUICK = ("--quiet", "--timeout", "2", "--open-timeout", "4", "--most-hangs", "1")


def functions() -> list[str]:
    """Returns each function that the library can make answer otherwise."""
    found = re.findall(r"^#define TBK_RETURNS_(\w+)", TABLES.read_text(), re.MULTILINE)
    return [name for name in found if name not in UNWRAPPED]


def at_fault(output: Path, call: str, answer: int, after: int, *more: str) -> list[str]:
    """Runs the suite on it. Returns what went wrong with the suite: nothing, or a line each."""
    options = [f"call={call}", f"answer={answer}", f"after={after}"]
    words = [word for option in options for word in ("-b", option)]
    done = run(ANSWERS, output, *QUICK, *more, *words)
    if not output.exists():
        return [f"no result file, exit {done.code}: {done.stderr.strip()[:200]}"]
    results = read(output)
    wrong = [
        f"{record['id']}: {record['seen']}"
        for record in results.tests
        if record["verdict"] == "suite-error"
    ]
    if results.tests and len(results.tests) != results.footer["planned"]:
        wrong.append(f"{len(results.tests)} of {results.footer['planned']} tests have a record")
    findings = any(record["verdict"] in ("fail", "crash", "hang") for record in results.tests)
    return wrong if done.code == 1 or not findings else [*wrong, f"findings, but exit {done.code}"]


def main() -> None:
    parser = argparse.ArgumentParser(description="The suite on a library that answers nonsense.")
    parser.add_argument("--calls", nargs="+", default=functions())
    parser.add_argument("--answers", nargs="+", type=int, default=STATUSES)
    parser.add_argument("--after", nargs="+", type=int, default=(0, 2))
    parser.add_argument("--jobs", default="2")
    chosen = parser.parse_args()
    wrong: collections.Counter[str] = collections.Counter()
    started, count = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "results.jsonl"
        for call, answer, after in itertools.product(chosen.calls, chosen.answers, chosen.after):
            output.unlink(missing_ok=True)
            count += 1
            for line in at_fault(output, call, answer, after, "--jobs", chosen.jobs):
                wrong[line] += 1
                print(f"{call} answers {answer} after {after}: {line}", flush=True)
    for line, times in wrong.most_common():
        print(f"{times} x {line}")
    print(f"{count} libraries, {len(wrong)} kinds of fault, {time.monotonic() - started:.0f} s")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
