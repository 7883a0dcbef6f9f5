# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Blame by substitution: a test that fails runs again on a device that is known to be good.

The answers are records of the result file (kind "substitution"); who is to blame follows from them
each time the file is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tbk_reports.model import WAIVABLE, WARNING, ResultFile, Test, read_results
from tbk_reports.text import line
from tbk_reports.words import fingerprint, seen_words

from tbk_harness import locate, runner
from tbk_harness.options import Subject
from tbk_harness.progress import Display
from tbk_harness.progress_row import BLAME

LIMIT = 40  # causes; one test of each
# The device that is judged stays away, and so does what holds its streams.
ENVIRONMENT = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "TBK_GATE": ""}
PYTORCH, REFERENCE = "pytorch", "reference"
STAND_INS = ("cpu", "template")  # of this project, the second for what the first lacks
LEFT_OUT = "left-out"  # by the budget
ANSWERS = {
    "pass": "pass", "unsupported": "not-applicable", "not-shown": "not-applicable",
    LEFT_OUT: LEFT_OUT,
}  # fmt: skip

FAULTS = (*sorted(WAIVABLE), WARNING)

Record = dict[str, Any]
# Asked before each run: of a budget, less is left. None: too little for another run.
Options = Callable[[], Mapping[str, Any] | None]


def representatives(tests: Sequence[Test]) -> list[Test]:
    """Returns the first test of each cause, those of most tests first."""
    groups: dict[str, list[Test]] = {}
    for test in tests:
        failed = test.failed and test.recorded in WAIVABLE
        asked = test.layer == "torch" and (failed or test.warns)
        if asked and test.blame in ("", "backend"):
            groups.setdefault(fingerprint(test), []).append(test)
    ranked = sorted(groups.values(), key=lambda members: -len(members))
    return [members[0] for members in ranked[:LIMIT]]


def _answers(
    chosen: Sequence[Test],
    on: str,
    subject: Subject,
    folder: Path,
    options: Options,
    display: Display,
) -> list[Record]:
    """Runs the tests on another device. What can't be run there is answered with "unknown"."""
    given = options()
    if given is None:
        return [_record(test, on, subject, LEFT_OUT) for test in chosen]
    asked = {**given, "only": tuple(dict.fromkeys(test.id for test in chosen))}
    output = folder / f"{on}-{Path(subject.words).stem}.jsonl"
    output.unlink(missing_ok=True)
    runner.run(subject.arguments(asked), output, display, environment=ENVIRONMENT, layer="blame")
    seen = {one.id: one for one in read_results(output).tests} if output.exists() else {}
    return [_answer(test, seen.get(test.id), on, subject) for test in chosen]


def _answer(test: Test, seen: Test | None, on: str, subject: Subject) -> Record:
    verdict, said = "unknown", ""
    if seen is not None:
        slow = seen.recorded == "hang" and test.recorded != "hang"  # says nothing of that test
        known = seen.recorded in FAULTS and not slow
        verdict = seen.recorded if known else ANSWERS.get(seen.recorded, "unknown")
        said = line(seen_words(seen), 300) if known else ""
    return _record(test, on, subject, verdict, said)


def _record(test: Test, on: str, subject: Subject, verdict: str, said: str = "") -> Record:
    return {
        "record": "substitution", "cause": fingerprint(test), "test": test.id, "on": on,
        "device": subject.device or Path(subject.library).stem, "verdict": verdict, "seen": said,
    }  # fmt: skip


def _open(records: Sequence[Record], chosen: Sequence[Test]) -> list[Test]:
    """Returns those to which none of the records is an answer."""
    said = {record["cause"] for record in records if record["verdict"] in ("pass", *FAULTS)}
    return [test for test in chosen if fingerprint(test) not in said]


def substitutions(
    tests: Sequence[Test],
    subject: Subject,
    folder: Path,
    options: Options,
    display: Display,
) -> list[Record]:
    """Runs one failing test of each cause on PyTorch's own cpu and, for what went through the
    bridge, on the reference backends."""
    chosen = representatives(tests)
    if not chosen:
        return []
    if subject.device == "cpu":  # it is its own substitute
        return [_answer(test, test, PYTORCH, subject) for test in chosen]
    display.phase(BLAME)
    display.tell(
        f"running {len(chosen)} of the failing tests on other devices, to see who is to blame"
    )
    found = _answers(chosen, PYTORCH, Subject(device="cpu"), folder, options, display)
    through: list[Record] = []
    for library in map(locate.library, STAND_INS if subject.library else ()):
        rest = _open(through, chosen)
        if library and rest and library.resolve() != Path(subject.library).resolve():
            stand_in = Subject(library=str(library))
            through += _answers(rest, REFERENCE, stand_in, folder, options, display)
    return found + through


def _weighed(test: Test, record: Mapping[str, Any]) -> object:
    """Returns what another device said: a test that fails here and only warns there does not
    fail there.
    """
    verdict = record.get("verdict")
    return "pass" if test.failed and verdict == WARNING else verdict


def _judged(test: Test, records: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Returns who is to blame, and how that was found out."""
    own = any(record.get("test") == test.id for record in records)
    same = "the same test" if own else f"{records[0].get('test')}, which has the same cause,"
    said = {(record.get("on"), _weighed(test, record)): record for record in records}
    fails = next((said[PYTORCH, kind] for kind in FAULTS if (PYTORCH, kind) in said), None)
    if fails:
        return "pytorch", f"{same} fails on PyTorch's own cpu, too"
    fails = next((said[REFERENCE, kind] for kind in FAULTS if (REFERENCE, kind) in said), None)
    if fails:
        return "bridge", f"{same} fails on the reference backend, too, through the same bridge"
    if (REFERENCE, "pass") in said:
        return "backend", f"{same} passes on the reference backend through the same bridge"
    if (PYTORCH, "pass") in said:
        asked = any(on == REFERENCE for on, _ in said)
        more = "; no reference backend could tell whether the bridge is at fault" if asked else ""
        return "backend", f"{same} passes on PyTorch's own cpu{more}"
    if any(verdict == LEFT_OUT for _, verdict in said):
        return test.blame or "backend", f"{same} was not run on others: the budget was over"
    return test.blame or "backend", f"{same} can be run on no other device here"


def attributed(results: ResultFile) -> tuple[Test, ...]:
    """Returns the tests, with the blame that the file's substitutions give them."""
    by_cause: dict[str, list[Mapping[str, Any]]] = {}
    for record in results.more:
        if record.get("record") == "substitution":
            by_cause.setdefault(str(record.get("cause")), []).append(record)
    if not by_cause:
        return results.tests
    return tuple(_attributed(test, by_cause) for test in results.tests)


def _attributed(test: Test, by_cause: Mapping[str, Sequence[Mapping[str, Any]]]) -> Test:
    faulty = test.failed or test.warns
    if test.layer != "torch" or not faulty or test.blame not in ("", "backend"):
        return test
    records = by_cause.get(fingerprint(test))
    if not records:
        return test
    blame, how = _judged(test, records)
    return replace(test, blame=blame, blame_how=line(how, 300))
