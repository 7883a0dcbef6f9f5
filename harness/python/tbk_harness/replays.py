# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What came of tests that were run again: that one fails again, and that it was run at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tbk_reports.model import (
    ERRORS,
    EXIT_FINDINGS,
    EXIT_INTERRUPTED,
    EXIT_PASS,
    EXIT_SUITE_ERROR,
    Test,
)
from tbk_reports.words import seen_words, state_words

NOT_RUN = frozenset({"not-reached", "unsupported", "left-out"})  # verdicts on a test that never ran
NO_PROCESS = ("suite-error/no-process", "suite-error/lost")


@dataclass(frozen=True)
class End:
    """`code`: why it could not be run, or not to its end, of the documented exit codes; else 0."""

    again: bool = False
    code: int = EXIT_PASS


def _ran(test: Test, one: Test) -> bool:
    """Returns whether a record says something of the backend, or what the file said before: a test
    that is at fault itself does only where it was so before."""
    if one.verdict == "suite-error":
        return test.recorded == "suite-error" and one.cause not in NO_PROCESS
    return one.verdict not in NOT_RUN


def of_run(test: Test, seen: Sequence[Test], code: int) -> End:
    """Returns what came of a test, of which `seen` was recorded now by a runner that ended with
    `code`."""
    ran = [one for one in seen if _ran(test, one)]
    if any(one.failed for one in ran):
        return End(again=True, code=EXIT_INTERRUPTED if code == EXIT_INTERRUPTED else EXIT_PASS)
    if code == EXIT_INTERRUPTED or not ran or any(one.failed for one in seen):
        return End(code=code if code == EXIT_FINDINGS or code in ERRORS else EXIT_SUITE_ERROR)
    return End()


def first(failing: Sequence[Test]) -> Test:
    """Returns the failure to tell of: one that ran, where there is one."""
    return next((one for one in failing if one.verdict not in NOT_RUN), failing[0])


def reason(seen: Sequence[Test]) -> str:
    """Returns why tests did not run, as the first record of them says it."""
    if not seen:
        return ""
    worst = next((one for one in seen if one.failed), seen[0])
    said = worst.needs_missing or worst.evidence_reason or seen_words(worst)
    named = state_words(worst.verdict)
    return named if said == named else f"{named}: {said}"


def summary(ends: Sequence[End], chosen: int) -> str:
    """Returns how many fail again, and how many of the chosen ones could not be run."""
    if not chosen:
        return "nothing was run: no test of this file failed"
    again = sum(end.again for end in ends)
    unrun = chosen - sum(end.again or not end.code for end in ends)
    return f"{again} of {chosen} fail again" + (f", {unrun} could not be run" if unrun else "")


def exit_code(ends: Sequence[End]) -> int:
    """Returns 1 where one fails again, else why the first could not be run. Only an interruption
    comes before both, since what is behind it was not asked."""
    codes = [end.code for end in ends if end.code]
    if EXIT_INTERRUPTED in codes:
        return EXIT_INTERRUPTED
    if any(end.again for end in ends):
        return EXIT_FINDINGS
    return next(iter(codes), EXIT_PASS)
