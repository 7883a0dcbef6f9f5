# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks of a contract test. They are counted: a test that made none has shown nothing.

A check that does not hold raises `ContractFailure`, which ends the test. All functions may be
called from any thread; what is counted belongs to the test that `begin` began.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

TRIVIAL = "trivial"
NOT_SHOWN = "not-shown"
_SHOWN = 400  # characters of a value in a message


@dataclass
class Totals:
    """What one test has checked."""

    checks: int = 0
    failure: ContractFailure | None = None
    """The first check that did not hold, whatever became of its exception."""
    warning: ContractFailure | None = None
    """The first recommendation that was not met."""
    evidence: str | None = None
    """None: shown. Else TRIVIAL (holds on this device whatever happens) or NOT_SHOWN."""
    evidence_reason: str = ""
    notes: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


class ContractFailure(AssertionError):  # noqa: N818  # a failure, not an error
    """A check that does not hold: of what, what was expected, what was seen, and where."""

    def __init__(self, what: str, expected: str, seen: str, where: str) -> None:
        super().__init__(f"{what}: expected {expected}, saw {seen}")
        self.what, self.expected, self.seen, self.where = what, expected, seen, where


_lock = threading.Lock()
_totals = Totals()


def begin() -> None:
    """A test begins: nothing is counted yet."""
    global _totals  # noqa: PLW0603  # one test at a time in a process
    with _lock:
        _totals = Totals()


def totals() -> Totals:
    """Returns what the test that runs, or ran last, has checked."""
    return _totals


def _where() -> str:
    """Returns the line of the test: the innermost frame outside of this file."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def shown(value: object) -> str:
    """Returns a value in a message: one line, not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _text(value: object) -> str:
    return value if isinstance(value, str) else shown(value)


def _counted(what: str, held: bool, expected: object, seen: object) -> ContractFailure | None:
    with _lock:
        _totals.checks += 1
    return None if held else ContractFailure(what, _text(expected), _text(seen), _where())


def that(what: str, held: bool, *, expected: object, seen: object) -> None:
    """`what` is a stable name of what is checked, without values: failures are grouped by it."""
    failure = _counted(what, held, expected, seen)
    if failure is None:
        return
    with _lock:
        _totals.failure = _totals.failure or failure
    raise failure


def should(what: str, held: bool, *, expected: object, seen: object) -> None:
    """As `that`, of a recommendation: the test goes on, and what it comes to is a warning."""
    unmet = _counted(what, held, expected, seen)
    with _lock:
        _totals.warning = _totals.warning or unmet


def equal(what: str, seen: object, expected: object) -> None:
    """Both compare equal, and by a plain bool: not for tensors."""
    that(what, bool(seen == expected), expected=expected, seen=seen)


def _is_lack(error: Exception) -> bool:
    """Returns whether the device says that it lacks an operator or a dtype, which is for the
    test's end.
    """
    from tbk_contracts.torch import missing  # noqa: PLC0415  # which checks

    return bool(missing.lacked(error))


def raises(
    what: str,
    types: type[BaseException] | tuple[type[BaseException], ...],
    call: Callable[[], object],
    match: str | None = None,
) -> BaseException:
    """`call` raises one of `types`, with `match` in its text, in whatever case. Gives it back."""
    names = " or ".join(one.__name__ for one in (types if isinstance(types, tuple) else (types,)))
    expected = f"{names}{f' with {match!r}' if match else ''}"
    try:
        result = call()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        right = isinstance(error, types) and (match is None or match.lower() in text.lower())
        if not right and _is_lack(error):
            raise
        that(what, right, expected=expected, seen=shown(text))
        return error
    that(what, False, expected=expected, seen=f"no exception, but {shown(type(result).__name__)}")
    raise AssertionError  # not reached


def tensor(what: str, seen: torch.Tensor, expected: torch.Tensor) -> None:
    """Two tensors on the host are the same: dtype, shape, and each element bit for bit.

    A NaN equals any other NaN; zeros differ by their sign.
    """
    for name, one in (("seen", seen), ("expected", expected)):
        if one.device.type != "cpu":
            raise TypeError(f"check.tensor compares on the host, {name} is on {one.device}")
    equal(f"{what}: dtype", seen.dtype, expected.dtype)
    equal(f"{what}: shape", tuple(seen.shape), tuple(expected.shape))
    wrong = _different(seen.resolve_conj().resolve_neg(), expected.resolve_conj().resolve_neg())
    count = int(wrong.sum())
    if count == 0:
        that(what, True, expected="", seen="")
        return
    at = tuple(int(index) for index in wrong.nonzero()[0])
    that(
        what,
        False,
        expected=f"{shown(expected[at].item())} at {list(at)}",
        seen=f"{shown(seen[at].item())}; {count} of {wrong.numel()} elements differ",
    )


def _different(seen: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    if seen.is_complex():
        seen, expected = torch.view_as_real(seen), torch.view_as_real(expected)
        return _different(seen, expected).any(-1)
    if seen.is_floating_point() and seen.itemsize == 1:  # too few operators, and all fit in float32
        seen, expected = seen.float(), expected.float()
    wrong = seen != expected
    if seen.is_floating_point():
        wrong &= ~(seen.isnan() & expected.isnan())
        wrong |= (seen == expected) & (torch.signbit(seen) != torch.signbit(expected))
    return wrong


def note(text: str) -> None:
    """Something worth to be read beside the verdict; changes nothing of it."""
    with _lock:
        _totals.notes.append(text)


def evidence(kind: str, reason: str) -> None:
    """The checks hold, and show less than they should: TRIVIAL or NOT_SHOWN, and why."""
    if kind not in (TRIVIAL, NOT_SHOWN):
        raise ValueError(f"evidence is {TRIVIAL} or {NOT_SHOWN}, not {kind}")
    with _lock:
        _totals.evidence, _totals.evidence_reason = kind, reason


def fact(**members: Any) -> None:
    """Members of the test's record: numbers, texts, lists of them."""
    with _lock:
        _totals.facts.update(members)
