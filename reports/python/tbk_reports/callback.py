# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What PyTorch's CI is told of a run by an out-of-tree backend (RFC-0050, RFC-0054)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from . import text
from .model import EXIT_FINDINGS, EXIT_PASS, VERDICTS, Judged, Test
from .words import seen_words

MOST_TESTS = 1_000
MESSAGE = 1_000  # bytes; the relay cuts at 1 KB
STACK = 4_000
# The action hands each text on as a variable of the environment, which has a limit of 128 KiB.
MOST_BYTES = 60_000
CATEGORIES = {"backend": "backend", "pytorch": "upstream"}


def _cut(value: str, most: int) -> str:
    return value.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


def _detail(test: Test) -> dict[str, Any]:
    said = f"{test.verdict}: expected {test.expected}, seen {seen_words(test)}"
    found = {
        "name": _cut(text.line(test.id, 400), MESSAGE),
        "classname": _cut(text.line(test.clause or test.suite, 100), MESSAGE),
        "message": _cut(text.line(said, 900), MESSAGE),
        "duration": round((test.wall_ns or test.duration_ns) / 1e9, 3),
    }
    return {**found, "stacktrace": _cut(text.clean(test.stack), STACK)} if test.stack else found


def _details(tests: Iterable[Test]) -> list[dict[str, Any]]:
    """Returns the failures, the worst first, as many as there is room for."""
    found: list[dict[str, Any]] = []
    room = MOST_BYTES
    for test in sorted(tests, key=lambda one: VERDICTS.index(one.verdict))[:MOST_TESTS]:
        one = _detail(test)
        room -= len(json.dumps(one)) + 2
        if room < 0:
            break
        found.append(one)
    return found


def _counts(judged: Judged) -> dict[str, int]:
    """A test that showed nothing, or fails as is known, has not passed."""
    passed = sum(test.state in ("pass", "trivial") for test in judged.tests)
    failed = sum(test.failed for test in judged.tests)
    total = len(judged.tests)
    return {"passed": passed, "failed": failed, "skipped": total - passed - failed, "total": total}


def _triage(judged: Judged, failing: list[Test]) -> dict[str, Any]:
    """Says who is to blame only where all failures say the same, and never which commit."""
    if judged.exit_code > EXIT_FINDINGS:
        category = "infra"
    else:
        blamed = {CATEGORIES.get(test.blame, "unknown") for test in failing}
        category = blamed.pop() if len(blamed) == 1 else "unknown"
    reason = (
        judged.problems[0]
        if judged.problems
        else f"{text.count_words(len(failing), 'test')} failed"
    )
    suite = judged.header.get("suite")
    version = suite.get("version") if isinstance(suite, Mapping) else None
    return {
        "schema_version": 1,
        "category": category,
        "confidence": "low" if category == "unknown" else "medium",
        "summary": _cut(text.line(reason, 900), MESSAGE),
        "analyzer": {"name": "tbk", "version": str(version or "")},
    }


def callback(judged: Judged) -> dict[str, Any]:
    """Returns the inputs of PyTorch's callback action, by their names there.

    The conclusion is "success" only where something passed and the verdict is a pass.
    """
    counts = _counts(judged)
    good = judged.verdict == "pass" and judged.exit_code == EXIT_PASS and counts["passed"] > 0
    failing = [test for test in judged.tests if test.failed]
    found: dict[str, Any] = {
        "conclusion": "success" if good else "failure",
        "test-results": counts,
        "failed-tests-detail": _details(failing),
    }
    return found if good else {**found, "triage-verdict": _triage(judged, failing)}
