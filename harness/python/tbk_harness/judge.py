# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""From records, waivers and a date to a verdict and an exit code: a pure function."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tbk_reports.extent import tier_of
from tbk_reports.litmus import is_litmus
from tbk_reports.model import (
    ERRORS,
    EXIT_FINDINGS,
    EXIT_INTERRUPTED,
    EXIT_NOTHING_SELECTED,
    EXIT_PASS,
    EXIT_SUITE_ERROR,
    WARNING,
    Judged,
    ResultFile,
    Test,
    as_count,
    with_verdict,
)
from tbk_reports.words import UNCLEAR

from tbk_harness import baseline, blame, capabilities, layers
from tbk_harness.waivers import Waiver

_LIMIT = re.compile(r"perhaps a limit of the run: ([^;]+)")  # in a test's notes


@dataclass(frozen=True)
class Known:
    """What is known of a device before it is judged."""

    waivers: Sequence[Waiver] = ()
    baseline: Sequence[baseline.Entry] | None = None


@dataclass
class _Waived:
    """The tests with their judged verdicts, and what is wrong with the waivers."""

    tests: list[Test]
    problems: list[str] = field(default_factory=list)
    told: list[dict[str, str]] = field(default_factory=list)
    baseline: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _as_waived(recorded: str, kind: str) -> bool:
    """A waiver for a failed check covers a recommendation that is not met, too."""
    return recorded == kind or (recorded == WARNING and kind == "fail")


def _expect(waived: _Waived, waiver: Waiver, covered: list[int]) -> str:
    """Judges the tests that a waiver covers; returns what became of the waiver."""
    tests = waived.tests
    as_expected = [at for at in covered if _as_waived(tests[at].recorded, waiver.kind)]
    for at in as_expected:
        tests[at] = with_verdict(tests[at], "xfail", waiver.words)
    if as_expected:
        return "used"
    # That programs drawn at random found nothing this time is no unexpected pass.
    covered = [at for at in covered if not is_litmus(tests[at])]
    passes = [at for at in covered if tests[at].recorded == "pass"]
    if passes and all(tests[at].recorded in ("pass", "not-shown", "unsupported") for at in covered):
        for at in passes:
            tests[at] = with_verdict(tests[at], "xpass", waiver.words)
        return "unexpected pass"
    return "not exercised" if not any(tests[at].failed for at in covered) else "another failure"


def _complete(header: dict[str, object]) -> bool:
    return not header.get("selection") and header.get("shard") in (None, "", "1/1")


def _exhaustive(results: ResultFile) -> bool:
    """Returns whether every test of the suite has an answer."""
    unanswered = ("left-out", "not-reached")
    return _complete(results.header) and not any(
        test.verdict in unanswered for test in results.tests
    )


def _shows(tier: str, other: str) -> bool:
    """Returns whether what a run of one tier found must show in a run of `tier`: the quick one has
    fewer tests, and repeats less."""
    return tier == other or other != "thorough"


def _apply(results: ResultFile, known: Known, today: datetime.date) -> _Waived:
    """Returns what is declared becomes tests; then waivers, then the baseline say what is known."""
    tests, problems, notes = capabilities.declared(results, _exhaustive(results))
    waived = _Waived([*blame.attributed(results), *tests], problems=problems, notes=notes)
    _apply_waivers(waived, results, known.waivers, today)
    if known.baseline is not None:
        complete = _exhaustive(results)
        tier = tier_of(results.header)
        found = baseline.apply(
            known.baseline, waived.tests,
            lambda entry: complete and _shows(tier, entry.tier)
            and layers.had(results.header, entry.example, entry.clauses),
        )  # fmt: skip
        for at, entry in found.known.items():
            waived.tests[at] = with_verdict(waived.tests[at], "xfail", entry.words)
        waived.problems += found.problems
        waived.baseline += found.told
        waived.notes += found.notes
    return waived


def _apply_waivers(
    waived: _Waived, results: ResultFile, waivers: Sequence[Waiver], today: datetime.date
) -> None:
    backend = results.header.get("backend")
    version = str(backend.get("version") or "") if isinstance(backend, dict) else ""
    for waiver in waivers:
        covered = [
            at for at, test in enumerate(waived.tests) if waiver.covers(test.id, test.clause)
        ]
        if not covered:
            had = layers.had(results.header, waiver.test, (waiver.clause,))
            asked = had and _complete(results.header)
            outcome = "matches nothing" if asked else "not selected"
        elif not waiver.applies_to(version):
            outcome = "other version"
        elif waiver.expires < today:
            outcome = "expired"
        else:
            outcome = _expect(waived, waiver, covered)
        if outcome == "matches nothing":
            waived.problems.append(f"waiver for {waiver.subject} matches no test of this run")
        elif outcome == "expired":
            waived.problems.append(f"waiver for {waiver.subject} expired on {waiver.expires}")
        waived.told.append(
            {"subject": waiver.subject, "outcome": outcome, "owner": waiver.owner,
             "reason": waiver.reason, "link": waiver.link, "expires": str(waiver.expires)}
        )  # fmt: skip


def _limited(tests: Sequence[Test]) -> list[str]:
    """Returns what may come from a limit of the run: none of it is hidden, and nobody accused."""
    unclear = [test for test in tests if test.failed and test.blame == UNCLEAR]
    limits = dict.fromkeys(one for test in unclear for one in _LIMIT.findall(test.notes))
    failures = "1 failure" if len(unclear) == 1 else f"{len(unclear):,} failures"
    named = ", ".join(limits) or "see the machine's"  # a test with much to say has no room for it
    told = f"{failures} may come from a limit of the run, and not from the device: {named}"
    return [told] if unclear else []


def _stated_error(results: ResultFile) -> tuple[int, str]:
    """Returns what the footer says of a run that has no verdict; code 0 where it has one."""
    footer = results.footer
    if footer is None:
        return EXIT_INTERRUPTED, ""
    if footer.get("verdict") != "error":
        return EXIT_PASS, ""
    code = footer.get("exit_code")
    known = as_count(code) if as_count(code) in ERRORS else EXIT_SUITE_ERROR
    whole = known == EXIT_SUITE_ERROR and not results.problems
    if whole and any(test.verdict == "suite-error" for test in results.tests):
        return EXIT_PASS, ""  # its tests tell, beside what others found
    return known, str(footer.get("reason") or "")


def flaw(results: ResultFile) -> tuple[int, str]:
    """Returns why a file is not a whole run, whatever its tests say, with the exit code for that;
    code 0 where it is one."""
    code, reason = _stated_error(results)
    if code == EXIT_PASS and results.problems:
        code = EXIT_SUITE_ERROR
    told = reason or next(iter(results.problems), "the run has no verdict")
    return code, told if code else ""


def _unexplained(results: ResultFile, failing: Sequence[Test]) -> list[str]:
    """Returns a failure that stands in the footer alone: a capability that is required, a device
    lost.

    A device that was lost is no known failure of a test: no waiver covers it, and no baseline.
    """
    footer = results.footer or {}
    health = str(footer.get("health") or "")
    known = any(test.failed for test in results.tests) and not health.startswith("lost")
    if footer.get("verdict") != "fail" or failing or known:
        return []
    return [str(footer.get("reason") or f"the run failed; health: {health}")]


def _suite_errors(tests: Sequence[Test]) -> str:
    ended = "1 test ended" if len(tests) == 1 else f"{len(tests)} tests ended"
    return f"{ended} in a suite error, first {tests[0].id}: {tests[0].seen or tests[0].cause}"


def judge(results: ResultFile, known: Known, today: datetime.date) -> Judged:
    """Judges one result file, or several that were merged. `today` decides what has expired."""
    waived = _apply(results, known, today)
    code = flaw(results)[0]
    reason = _stated_error(results)[1]
    problems = [*([reason] if reason else []), *results.problems, *waived.problems]
    failing = [test for test in waived.tests if test.failed]
    unexplained = _unexplained(results, failing)
    problems += unexplained
    errors = [test for test in failing if test.verdict == "suite-error"]
    if errors:
        problems.append(_suite_errors(errors))
    # A finding stands, whatever other test was at fault itself.
    if code == EXIT_PASS and errors and len(errors) == len(failing):
        code = EXIT_SUITE_ERROR
    if code == EXIT_PASS and not waived.tests:
        code = EXIT_NOTHING_SELECTED
        problems.append("no test was recorded")
    if code:
        verdict = "error"
    else:
        verdict = "fail" if failing or waived.problems or unexplained else "pass"
        code = EXIT_FINDINGS if verdict == "fail" else EXIT_PASS
    return Judged(
        header=results.header,
        footer=results.footer or {},
        tests=tuple(waived.tests),
        verdict=verdict,
        exit_code=code,
        problems=tuple(problems),
        waivers=tuple(waived.told),
        sources=(results.path,),
        baseline=tuple(waived.baseline),
        notes=(*waived.notes, *_limited(waived.tests)),
    )
