# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a failed test of the C layer says by itself: whether what was seen is of the kind that its
clause speaks of, and how surely it shows that this one is broken.
"""

from __future__ import annotations

import re

from .model import Test

REFUSALS = ("INVALID", "INVALID_STATE", "UNSUPPORTED", "OUT_OF_MEMORY", "UNAVAILABLE", "FAILED",
            "DEVICE_LOST")  # fmt: skip
REFUSING = ("Requires", "Errors")  # labels of the header's lines that say what is refused
STATUSES = frozenset({"OK", "NOT_READY", *REFUSALS})
NO_CHECK = (
    0.3  # what a crash or hang counts beside a failed check, in a call that the clause is about
)
NOT_OF_IT = -3.0  # what speaks against a clause where what it promises was kept
CUT_SHORT = 0.7  # what a test counts that had too little time, which is no failure by itself

_WORD = re.compile(r"[A-Z_]{2,}")
_ACCEPTS = re.compile(r"\bnot refused\b|\b(?:is|are) accepted\b(?! and|;)|^takes\b")
_ACCEPTS_FIRST = re.compile(r"\b(?:is|are) accepted(?: and|;)")  # and says what comes of it
_WAITS = re.compile(r"\bwait|\bat once\b|\breturns\b|\bbecomes\b|\bfor ever\b")


def _words(said: str) -> set[str]:
    return set(_WORD.findall(said)) & STATUSES


def _of_legal_calls(test: Test, seen: set[str]) -> float | None:
    """Returns what tells of a clause that legal calls are accepted, or that others are refused, of
    which a legal one speaks for nothing; None of any other."""
    if _ACCEPTS.search(test.clause_text):  # a result that is wrong was no refusal
        return 1.0 if seen & set(REFUSALS) else NOT_OF_IT
    if not is_refused(test):
        return None
    if _ACCEPTS_FIRST.search(test.clause_text):
        return 1.0
    return NOT_OF_IT if test.label in REFUSING else None


def fits(test: Test) -> float:
    """Tells from NOT_OF_IT to 1 whether what was seen is of the kind that its clause speaks of."""
    if test.recorded in ("hang", "not-reached") or "waited" in test.seen:
        return 1.0 if _WAITS.search(test.clause_text) else 0.0
    expected, seen = _words(test.expected), _words(test.seen.partition(":")[0])
    legal = _of_legal_calls(test, seen)
    if legal is not None:
        return legal
    refusal = test.label in REFUSING
    if test.label == "On error" and test.seen.startswith("OK") and "NOT_READY" not in expected:
        return -1.0  # no error, and so nothing that it could have changed
    if _words(test.clause_text) & (expected | seen) - {"OK"}:
        return 0.0 if refusal and "OK" in seen else 1.0  # what does nothing refuses nothing
    if refusal:
        return -1.0
    return -0.5 if "OK" in expected and seen & set(REFUSALS) else 0.0


def breach(test: Test) -> float:
    """Returns how surely a failing test shows that its clause is broken: a hang shows it where the
    clause speaks of waiting."""
    if test.recorded == "fail" or (test.recorded != "crash" and fits(test) > 0):
        return counts_as(test)
    return NO_CHECK


def went_through(test: Test) -> bool:
    """Tells whether a call that was to be refused was not."""
    return bool(_words(test.expected) & set(REFUSALS)) and test.seen.startswith("OK")


def is_refused(test: Test) -> bool:
    """Tells whether a legal call was refused."""
    said = _WORD.match(test.seen)
    return test.expected.startswith("OK") and said is not None and said[0] in REFUSALS


def counts_as(test: Test) -> float:
    """Returns how much of a test it is: less where it had too little time."""
    return CUT_SHORT if test.recorded == "not-reached" else 1.0


def is_answer(test: Test) -> bool:
    """Returns whether it tells which function went wrong: it answered wrongly, or did not
    return.
    """
    said = _WORD.match(test.seen)
    return test.recorded != "fail" or bool(said and said[0] in STATUSES)
