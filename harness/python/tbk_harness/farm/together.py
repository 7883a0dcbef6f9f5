# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What litmus programs of many nodes saw, as the records of one run.

Counts are added up; how sure the verdict is is computed anew by tbk-litmus, from what each process
saw, and once more from what each node saw: programs of one node are alike in what its board is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from tbk_reports.finding import Record
from tbk_reports.model import EXIT_FINDINGS, as_count

_SUMMED = ("programs", "controls", "calls", "looks", "no_room", "found", "processes", "found_in",
           "opening_milliseconds", "cpu_milliseconds")  # fmt: skip
_TOO_FEW = "too few programs without the edge showed that it was gone"
_APART = "the nodes are too far from each other in how often they show that it is gone"

Pairs = list[tuple[int, int]]
"""Programs that were looked at for a kind of edge, and those that showed its loss: of a process, or
of a node."""
Ask = Callable[[Sequence[tuple[int, Pairs]]], Sequence[Record]]
"""How sure so many programs are, with what each process or node had."""


@dataclass(frozen=True)
class Answer:
    """A part that came back."""

    number: int
    node: str
    records: tuple[Record, ...]
    seconds: float = 0.0

    def of(self, kind: str) -> list[Record]:
        """Returns its records of a kind."""
        return [one for one in self.records if one.get("record") == f"litmus-{kind}"]

    @property
    def finding(self) -> Record | None:
        """Returns what it found."""
        return next(iter(self.of("finding")), None)

    @property
    def footer(self) -> Record:
        """Returns how it ended."""
        return next(iter(self.of("footer")), {})

    @property
    def programs(self) -> int:
        """Returns how many programs it ran, those without an edge among them."""
        return as_count(self.footer.get("programs")) + as_count(self.footer.get("controls"))


def first_found(answers: Sequence[Answer]) -> Answer | None:
    """Returns the part with the finding of the run: that of the least numbers of programs,
    whichever came back first."""
    found = [one for one in answers if one.finding is not None]
    return min(found, key=lambda one: one.number, default=None)


def together(
    answers: Sequence[Answer], header: Mapping[str, Any], end: Mapping[str, Any], ask: Ask
) -> list[Record]:
    """Returns the records of the run; `header` and `end` are what the farm says of it."""
    ordered = sorted(answers, key=lambda one: one.number)
    found = first_found(ordered)
    head: Record = next(iter(ordered[0].of("header")), {"record": "litmus-header"})
    records: list[Record] = [{**head, **header, "nodes": _nodes(ordered)}]
    if found is not None and found.finding is not None:
        records.append({**found.finding, "node": found.node})
    broken = set((found.finding or {}).get("edges", ()) if found else ())
    records += _edges(ordered, broken, ask)
    sums = {name: sum(as_count(one.footer.get(name)) for one in ordered) for name in _SUMMED}
    return [*records, {"record": "litmus-footer", **sums, **end}]


def _nodes(answers: Sequence[Answer]) -> dict[str, dict[str, Any]]:
    """Returns what each node ran, and in how many parts it found something."""
    told: dict[str, dict[str, Any]] = {}
    for one in answers:
        node = told.setdefault(one.node, {"parts": 0, "programs": 0, "findings": 0, "seconds": 0.0})
        node["parts"] += 1
        node["programs"] += one.programs
        node["findings"] += one.footer.get("exit_code") == EXIT_FINDINGS
        node["seconds"] = round(node["seconds"] + one.seconds, 3)
    return dict(sorted(told.items()))


# --------------------------------------------------------------------------------------- edges --


@dataclass(frozen=True)
class _Kind:
    """A kind of edge, as each part that has it saw it."""

    edges: list[tuple[Answer, Record]]

    @property
    def programs(self) -> int:
        return sum(answer.programs for answer, _ in self.edges)

    def processes(self) -> Pairs:
        return [pair for _, edge in self.edges for pair in _pairs(edge)]

    def nodes(self) -> Pairs:
        sums: dict[str, tuple[int, int]] = {}
        for answer, edge in self.edges:
            tried, shown = sums.get(answer.node, (0, 0))
            sums[answer.node] = (
                tried + as_count(edge.get("tried")), shown + as_count(edge.get("shown")),
            )  # fmt: skip
        return list(sums.values())


def _pairs(edge: Record) -> Iterator[tuple[int, int]]:
    told = [as_count(one) for one in edge.get("of_processes", ())]
    return zip(told[::2], told[1::2], strict=False)


def _edges(answers: Sequence[Answer], broken: set[str], ask: Ask) -> Iterator[Record]:
    kinds: dict[str, _Kind] = {}
    for answer in answers:
        for edge in answer.of("edge"):
            kinds.setdefault(str(edge.get("kind")), _Kind([])).edges.append((answer, edge))
    asked = [
        ((one.programs, one.processes()), (one.programs, one.nodes())) for one in kinds.values()
    ]
    sure = ask(list(chain.from_iterable(asked)))
    for (name, one), processes, nodes in zip(
        kinds.items(), sure[::2], sure[1::2], strict=True
    ):  # fmt: skip
        yield _edge(one, name in broken, processes, nodes)


def _edge(kind: _Kind, is_broken: bool, processes: Record, nodes: Record) -> Record:
    """Returns a kind of edge as the whole run has it. Of what all have, the worse of both ways to
    count says how sure it is; one node alone is no sample of nodes."""
    edges = [edge for _, edge in kind.edges]
    several = len(kind.nodes()) > 1
    one_in = as_count(processes.get("one_in"))
    if several:
        one_in = min(one_in, as_count(nodes.get("one_in")))
    state, why = _state(edges, is_broken, one_in)
    sums = {name: sum(as_count(edge.get(name)) for edge in edges) for name in _COUNTED}
    share = min(as_count(processes.get("share_one_in")), one_in)
    of_nodes = {
        "node_percent": nodes.get("share_percent"),
        "node_one_in": min(as_count(nodes.get("share_one_in")), one_in),
    }  # fmt: skip
    return {
        "record": "litmus-edge", **{name: edges[0].get(name) for name in _NAMED},
        "state": state, "why": why, **sums, "one_in": one_in,
        "share_percent": processes.get("share_percent"), "share_one_in": share,
        **(of_nodes if several else {}),
    }  # fmt: skip


_NAMED = ("kind", "clause", "text")
_COUNTED = ("tried", "controls", "shown")


def _state(edges: Sequence[Record], is_broken: bool, one_in: int) -> tuple[str, str]:
    """Returns the state and why; where nothing was shown, what parts say to which less was."""
    if is_broken:
        return "broken", ""
    if one_in >= 1:
        return "proven", ""
    if any(as_count(edge.get("shown")) for edge in edges):
        was_proven = any(edge.get("state") == "proven" for edge in edges)
        return "not-shown", _APART if was_proven else _TOO_FEW
    open_ones = [edge for edge in edges if edge.get("state") == "not-shown"] or edges
    told = max(open_ones, key=lambda edge: as_count(edge.get("controls")))
    return str(told.get("state")), str(told.get("why"))
