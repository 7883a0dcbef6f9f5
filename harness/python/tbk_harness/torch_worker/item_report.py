# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""From what pytest and the checks saw of a test to what the worker says of it."""

from __future__ import annotations

import inspect
import linecache
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import tbk_contracts.torch
from tbk_contracts.torch import check

from tbk_harness.torch_worker import launcher
from tbk_harness.torch_worker.speech import brief, told

EVIDENCE = {None: None, check.TRIVIAL: 1, check.NOT_SHOWN: 2}
CONTRACTS = Path(tbk_contracts.torch.__file__).resolve().parent
OWN_MISTAKES = (NameError, SyntaxError, pytest.FixtureLookupError)
FIXTURE_MISTAKES = (*OWN_MISTAKES, AttributeError, TypeError, KeyError, IndexError)
PYTEST_EXITS = (pytest.skip.Exception, pytest.fail.Exception, pytest.xfail.Exception,
                pytest.exit.Exception)  # fmt: skip
NO_MARKS = ("skip", "skipif", "xfail")  # what a device lacks is a need, and no more is excused
SOURCE_LIMIT = 6_000  # characters
HELD = "device_open: UNAVAILABLE"  # as the bridge says it; it counts where a device is exclusive
PHASES = {
    "setup": launcher.PHASE_OPEN,
    "call": launcher.PHASE_BODY,
    "teardown": launcher.PHASE_CLEAN,
}


@dataclass
class Seen:
    """One test: what each of its parts raised, and how long the body took."""

    folder: Path
    source: str = ""
    """Of the test, to be read beside its failure."""
    only_should: bool = False
    """Whether the clause that the test cites is a recommendation."""
    raised: dict[str, BaseException] = field(default_factory=dict)
    duration_ns: int = 0

    @property
    def fails(self) -> bool:
        """Returns whether anything did not hold."""
        return bool(self.raised) or check.totals().failure is not None


def source_of(item: pytest.Item) -> str:
    """The function of a test as it stands in its file; empty where it has none, or a huge one."""
    try:
        text = inspect.getsource(getattr(item, "obj"))  # noqa: B009  # not of every item
    except (AttributeError, OSError, TypeError):
        return ""
    return text if len(text) <= SOURCE_LIMIT else ""


def members(seen: Seen) -> dict[str, Any]:
    """Of the "end" of a test."""
    totals = check.totals()
    made: dict[str, Any] = {
        "checks": totals.checks,
        "duration_ns": seen.duration_ns,
        "evidence": EVIDENCE[totals.evidence],
        "evidence_reason": brief("evidence_reason", totals.evidence_reason) or None,
        "notes": brief("notes", "; ".join(totals.notes)) or None,
        "facts": totals.facts or None,
    }
    if seen.fails:
        if "program" not in totals.facts:
            made["facts"] = {**totals.facts, "source": seen.source}
        made |= {"checks": max(totals.checks, 1), "failures": 1} | _failure(seen)
        made["only_should"] = seen.only_should
        made["device_held"] = HELD in made.get("seen", "")
    elif totals.warning is not None:
        made |= {"failures": 1, "only_should": True, "phase": launcher.PHASE_BODY}
        made |= _words(totals.warning)
    return made


def _failure(seen: Seen) -> dict[str, Any]:
    failure = check.totals().failure
    when, error = next(iter(seen.raised.items()), ("call", failure))
    phase = {"phase": PHASES[when]}
    if failure is None and isinstance(error, check.ContractFailure):
        failure = error  # raised by hand
    if failure is not None and not isinstance(error, PYTEST_EXITS):
        return phase | _words(failure)
    assert error is not None  # noqa: S101  # seen.fails
    return phase | _exception(seen, when, error)


def _words(failure: check.ContractFailure) -> dict[str, str]:
    return {
        "where": brief("where", failure.where),
        "what": brief("what", failure.what),
        "expected": brief("expected", failure.expected),
        "seen": brief("seen", failure.seen),
    }


def _exception(seen: Seen, when: str, error: BaseException) -> dict[str, Any]:
    """Of the device, unless the test itself is at fault."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_ours(frame.filename, seen.folder)]
    last = own[-1] if own else (frames[-1] if frames else None)
    at = f"{Path(last.filename).name}:{last.lineno}" if last else ""
    line = linecache.getline(last.filename, last.lineno or 0).strip() if last else ""
    innermost = bool(own) and bool(frames) and own[-1] is frames[-1]
    made: dict[str, Any] = {
        "where": brief("where", at),
        "what": brief("what", line or type(error).__name__),
        "expected": "no exception",
        "seen": brief("seen", told(error)),
    }
    mistakes = OWN_MISTAKES if when == "call" else FIXTURE_MISTAKES
    if isinstance(error, PYTEST_EXITS) or (
        isinstance(error, mistakes) and (innermost or isinstance(error, pytest.FixtureLookupError))
    ):
        made["suite_faults"] = 1
    return made


def _is_ours(filename: str, folder: Path) -> bool:
    path = Path(filename)
    return path.is_relative_to(CONTRACTS) or path.is_relative_to(folder)
