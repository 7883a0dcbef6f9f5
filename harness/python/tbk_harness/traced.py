# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What was traced of a script, by operator: for the terminal, for a file, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tbk_reports.given import read_given
from tbk_reports.text import count_words, line

FORMAT = 1
UNSERVED = ("missing", "refused", "fallback")  # worst first


class TraceError(Exception):
    """A file is no trace; one line for people."""


@dataclass(frozen=True)
class Operator:
    """All overloads of one operator that are served in one way."""

    name: str
    """As "add"; with its namespace where that is not PyTorch's own."""
    served: str
    calls: int
    dtypes: tuple[str, ...]


@dataclass(frozen=True)
class Traced:
    """A script's needs: unserved operators first, then the most frequent."""

    device: str
    version: str
    pytorch: str
    counts: bool
    """Whether the device counts what falls back."""
    operators: tuple[Operator, ...]

    @property
    def unserved(self) -> tuple[Operator, ...]:
        """Returns those that the device does not compute."""
        return tuple(one for one in self.operators if one.served in UNSERVED)

    @property
    def shares(self) -> dict[str, tuple[int, int]]:
        """Returns operators and calls by who served them."""
        found: dict[str, tuple[int, int]] = {}
        for one in self.operators:
            operators, calls = found.get(one.served, (0, 0))
            found[one.served] = operators + 1, calls + one.calls
        return found

    @property
    def headline(self) -> str:
        """Returns the result in a sentence."""
        asked = {one.name for one in self.operators}
        if not asked:
            return f"nothing was asked of {self.device}: does the script choose it?"
        lacking = {one.name for one in self.unserved}
        whole = f"the script asks {self.device} for {count_words(len(asked), 'operator')}"
        if not lacking:
            return f"{whole}, and it computes them all"
        calls = sum(one.calls for one in self.unserved)
        return (
            f"{whole}; {len(lacking)} of them, in {count_words(calls, 'call')}, it does not compute"
        )

    def document(self) -> dict[str, Any]:
        """Returns it for machines."""
        return {
            "tbk_trace": FORMAT, "device": self.device, "version": self.version,
            "pytorch": self.pytorch, "counts_fallbacks": self.counts,
            "operators": [
                {"operator": one.name, "served": one.served, "calls": one.calls,
                 "dtypes": list(one.dtypes)} for one in self.operators
            ],
        }  # fmt: skip


def base(operator: str) -> str:
    """Returns "add" of "aten::add.out": a kernel serves all overloads."""
    return operator.removeprefix("aten::").partition(".")[0]


def trace_of(seen: Mapping[str, Any]) -> Traced:
    """Returns what a traced process has written."""
    rows: dict[tuple[str, str], dict[str, int]] = {}
    for need in seen["needs"]:
        dtypes = rows.setdefault((base(need["operator"]), need["served"]), {})
        dtypes[need["dtype"]] = dtypes.get(need["dtype"], 0) + need["calls"]
    operators = [
        Operator(name, served, sum(dtypes.values()), _by_calls(dtypes))
        for (name, served), dtypes in rows.items()
    ]
    operators.sort(key=lambda one: (_place(one.served), -one.calls, one.name))
    return Traced(
        seen["device"], seen["version"], seen["pytorch"], seen["counts"], tuple(operators)
    )


def _by_calls(dtypes: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(sorted(filter(None, dtypes), key=lambda name: (-dtypes[name], name)))


def _place(served: str) -> int:
    return UNSERVED.index(served) if served in UNSERVED else len(UNSERVED)


def calls_by_operator(path: Path) -> dict[str, int]:
    """Returns how often a traced script calls each operator, from a file of tbk trace.

    Raises TraceError: it is none. Raises OSError.
    """
    try:
        found = json.loads(read_given(path))
        if found["tbk_trace"] != FORMAT:
            raise TraceError(f"{path} is a trace of format {line(found['tbk_trace'], 20)}")
        calls: dict[str, int] = {}
        for row in found["operators"]:
            name, count = row["operator"], row["calls"]
            if not isinstance(name, str) or not isinstance(count, int) or count < 0:
                raise TraceError(f"{path} is no trace: a row has no operator, or no calls")
            calls[name] = calls.get(name, 0) + count
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TraceError(f"{path} is no trace, as tbk trace writes it") from error
    return calls
