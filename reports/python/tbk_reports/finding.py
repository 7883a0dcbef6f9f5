# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a litmus run says, read from its records: the finding, and each kind of edge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import text
from .model import as_count, as_text

Record = Mapping[str, Any]
BEGINNING = -1  # in the place of a call; the number of calls is the end
MOST_CALLS = 64
MOST_LINKS = 64
LINE = 200
DEEPEST = 8  # columns by which a line is indented
ALL = 100  # percent
HOST_ORDER = "HOST"  # the kind of edge that no device can break

ENDINGS = {
    "wrong": "a read saw what no order of the work allows",
    "refused": "a call was answered with an error",
    "miscounted": "a callback did not run exactly once",
    "stuck": "what was asked again and again did not become complete",
    "crash": "the process died",
    "hang": "a call did not return",
}
STATE_WORDS = {
    "proven": "proven",
    "trivial": "holds trivially",
    "not-shown": "not shown",
    "broken": "broken",
}


@dataclass(frozen=True)
class Link:
    """One step of the chain: a call that must be complete before another begins."""

    before: int
    after: int
    clause: str
    words: str
    kind: str = ""


@dataclass(frozen=True)
class Finding:
    """The smallest program that shows a fault, and why what it saw is wrong."""

    outcome: str
    message: str
    status: str
    clauses: tuple[str, ...]
    calls: tuple[str, ...]
    lanes: tuple[str, ...]  # of each call, where its effect takes place
    chain: tuple[Link, ...]
    reason: tuple[str, ...]
    size_bytes: int = 0
    read: int | None = None  # calls: the one that saw it, or that went wrong
    other: int | None = None  # that saw something else
    wrote: int | None = None  # whose value was seen
    over: int | None = None  # that writes over it
    moved: tuple[int, ...] = ()  # copies by which it came
    seed: int = 0
    index: int = 0
    calls_before: int = 0
    shown: int = 0
    replays: int | None = 0  # None: the record does not say
    repeats: int = 0
    processes: int = 0
    alone_shown: int = 0  # by its file, which needs nothing of the suite
    alone_runs: int = 0  # of that file; 0: it was not run

    @property
    def words(self) -> str:
        """Returns what happened, in a few words."""
        return ENDINGS.get(self.outcome, self.outcome)

    @property
    def said(self) -> str:
        """Returns what the library or the system said of it; empty where nothing."""
        return ": ".join(part for part in (self.status, self.message) if part)

    @property
    def seen(self) -> str:
        """Returns what the read saw and what was legal; empty where no read was wrong."""
        return self.reason[0].partition(": ")[2] if self.read is not None and self.reason else ""

    @property
    def frequency(self) -> str:
        """Returns how often the smallest program showed it when it was run again."""
        if self.replays is None:
            return f"it was {self.calls_before} calls"
        if self.replays == 0:
            return f"it was not run again at its final size; it was {self.calls_before} calls"
        tries = f", each with up to {self.repeats} tries" if self.repeats > 1 else ""
        tries += f", each in up to {self.processes} processes" if self.processes > 1 else ""
        return (
            f"run again, it showed {self.shown} of {self.replays} times{tries}; "
            f"it was {self.calls_before} calls"
        )

    @property
    def needs_others(self) -> bool:
        """Returns whether its file was run and did not show it: what ran before decides."""
        return self.alone_runs > 0 and self.alone_shown == 0 and self.processes <= 1

    @property
    def alone_words(self) -> str:
        """Returns how often the file of the finding showed it."""
        if not self.alone_runs:
            return "not tried"
        if self.alone_shown:
            return f"shown by {self.alone_shown} of {self.alone_runs} runs of it"
        why = "it needs what ran before" if self.needs_others else "only some processes show it"
        return f"not shown by {text.count_words(self.alone_runs, 'run')} of it: {why}"

    def name(self, call: int) -> str:
        """Returns a call as text, or what stands before or after all of them."""
        if 0 <= call < len(self.calls):
            return self.calls[call]
        return "the beginning" if call < 0 else "the end, when all is complete"


@dataclass(frozen=True)
class Edge:
    """How sure it is that this device keeps the edges of one kind."""

    kind: str
    clause: str
    words: str
    state: str
    why: str
    tried: int
    controls: int
    shown: int
    one_in: int
    share_percent: int = 100  # of processes: what so many have would have been seen, too
    share_one_in: int = 0
    gates: int = 0  # tests of the run that showed such an order by a stream that was held shut

    @property
    def gate_words(self) -> str:
        """Returns what gates showed of a kind that programs did not show; empty where nothing."""
        if self.state not in ("not-shown", "trivial") or not self.gates:
            return ""
        return f"shown by gates: {text.count_words(self.gates, 'test')}"

    @property
    def rate(self) -> str:
        """Returns the rarest fault that would have been seen; empty where nothing is proven."""
        return f"one in {self.one_in:,}" if self.state == "proven" and self.one_in else ""

    @property
    def share(self) -> str:
        """Returns the least share of processes that may have such a fault, and how rare it may be
        there; empty where it is said only of what all have."""
        if not self.rate or not 0 < self.share_percent < ALL:
            return ""
        return f"{self.share_percent} %, one in {self.share_one_in:,}"

    @property
    def share_words(self) -> str:
        """Returns the same as a sentence says it."""
        if not self.share:
            return ""
        return f"in {self.share_percent} % of processes: one in {self.share_one_in:,}"

    @property
    def control_words(self) -> str:
        """Returns how many programs without the edge showed that it was gone."""
        return f"{self.shown:,} of {self.controls:,}" if self.controls else ""


def _texts(value: object, most: int) -> tuple[str, ...]:
    found = value if isinstance(value, list | tuple) else ()
    return tuple(text.line(as_text(one), LINE) for one in found[:most])


def _indented(value: object, most: int) -> tuple[str, ...]:
    """The same, for lines that say by how far they are indented what they belong to."""
    found = value if isinstance(value, list | tuple) else ()
    texts = [as_text(one) for one in found[:most]]
    depths = [min(len(one) - len(one.lstrip(" ")), DEEPEST) for one in texts]
    return tuple(
        " " * depth + text.line(one, LINE) for depth, one in zip(depths, texts, strict=True)
    )


def _place(value: object, calls: int) -> int | None:
    """Returns a call, the beginning or the end; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if BEGINNING <= value <= calls else None


def _chain(value: object, calls: int) -> tuple[Link, ...]:
    found = []
    for one in value[:MOST_LINKS] if isinstance(value, list) else ():
        if not isinstance(one, Mapping):
            continue
        before, after = _place(one.get("from"), calls), _place(one.get("to"), calls)
        if before is not None and after is not None:
            clause = text.line(as_text(one.get("clause")), 20)
            words = text.line(as_text(one.get("text")), LINE)
            found.append(Link(before, after, clause, words, as_text(one.get("kind"))))
    return tuple(found)


def finding_of(record: Record) -> Finding:
    """Reads a record of any quality."""
    calls = _texts(record.get("program"), MOST_CALLS)
    lanes = tuple(one or "host" for one in _texts(record.get("lanes"), len(calls)))
    moved = record.get("moved")
    came = [
        _place(one, len(calls)) for one in (moved[:MOST_LINKS] if isinstance(moved, list) else ())
    ]
    outcome = text.line(as_text(record.get("outcome")), 40)
    tries = ("calls_before", "shown", "repeats", "processes")
    alone = ("alone_shown", "alone_runs")
    counts = ("size_bytes", "seed", "index", *tries, *alone)
    return Finding(
        outcome=outcome,
        message=text.line(as_text(record.get("message")), LINE),
        status=text.line(as_text(record.get("status")), 60),
        clauses=_texts(record.get("clauses"), MOST_LINKS),
        calls=calls,
        lanes=lanes + ("host",) * (len(calls) - len(lanes)),
        chain=_chain(record.get("chain"), len(calls)),
        reason=_indented(record.get("reason"), MOST_CALLS),
        read=_read(record, outcome, len(calls)),
        moved=tuple(one for one in came if one is not None),
        other=_place(record.get("other"), len(calls)),
        wrote=_place(record.get("wrote"), len(calls)),
        over=_place(record.get("over"), len(calls)),
        replays=as_count(record["replays"]) if "replays" in record else None,
        **{name: as_count(record.get(name)) for name in counts},
    )


def _read(record: Record, outcome: str, calls: int) -> int | None:
    """Returns the call that looked; of a program that ended otherwise the one that went wrong."""
    if outcome == "wrong":
        return _place(record.get("read"), calls)
    found = _place(record.get("call"), calls)
    return calls if found == BEGINNING else found


def edge_of(record: Record) -> Edge:
    """Reads a record of any quality; a state that is not known shows nothing."""
    state = as_text(record.get("state"))
    return Edge(
        kind=text.line(as_text(record.get("kind")), 60),
        clause=text.line(as_text(record.get("clause")), 20),
        words=text.line(as_text(record.get("text")), LINE),
        state=state if state in STATE_WORDS else "not-shown",
        why=text.line(as_text(record.get("why")), LINE),
        tried=as_count(record.get("tried")),
        controls=as_count(record.get("controls")),
        shown=as_count(record.get("shown")),
        one_in=as_count(record.get("one_in")),
        share_percent=as_count(record.get("share_percent")) or ALL,
        share_one_in=as_count(record.get("share_one_in")),
    )


@dataclass(frozen=True)
class Ordering:
    """All that a litmus run says."""

    edges: tuple[Edge, ...]
    findings: tuple[Finding, ...]
    programs: int = 0
    controls: int = 0
    no_room: int = 0
    milliseconds: int = 0
    processes: int = 0
    options: str = ""

    @property
    def proven(self) -> int:
        return sum(edge.state == "proven" for edge in self.edges)

    def state_words(self, edge: Edge) -> str:
        """Returns the state in words: of the kinds in a chain, one is broken."""
        alone = sum(one.state == "broken" for one in self.edges) == 1
        return STATE_WORDS[edge.state] if edge.state != "broken" or alone else "may be broken"

    @property
    def by_gates(self) -> int:
        """Returns how many kinds gates of the run's tests showed, and programs did not."""
        return sum(bool(edge.gate_words) for edge in self.edges)

    @property
    def headline(self) -> str:
        """Returns the share of the kinds of edges that are proven, in words."""
        if self.findings:
            return f"A fault of order was found: {self.findings[0].words}"
        kinds = f"{text.count_words(len(self.edges), 'kind')} of order"
        if self.by_gates:
            shown = f"{self.by_gates} of {kinds} shown by gates of tests"
            return f"{shown}, and {self.proven} more proven"
        return f"{self.proven} of {kinds} proven"

    @property
    def extent_words(self) -> str:
        """Returns how much was run."""
        programs = text.count_words(self.programs, "program")
        ran = f"{programs} and {text.count_words(self.controls, 'control')}"
        room = f"; {self.no_room:,} found no memory, and say nothing" if self.no_room else ""
        spread = f", in {self.processes:,} processes" if self.processes > 1 else ""
        return f"{ran} in {self.milliseconds / 1000:.1f} s{spread}{room}"

    @property
    def process_words(self) -> str:
        """Returns what is said of faults that some processes have and others have not."""
        if self.processes <= 1:
            return (
                "all ran in one process, so of faults that some processes have and others have not "
                "this says nothing"
            )
        return (
            "where a share of processes is named, so would have been a fault that only so many "
            "have, and that breaks one of so many edges there; else it is said of what all have"
        )


def ordering_of(records: Iterable[Record]) -> Ordering:
    """Returns what the records of a litmus run say together."""
    found: Sequence[Record] = list(records)

    def of(kind: str) -> list[Record]:
        return [record for record in found if record.get("record") == f"litmus-{kind}"]

    footer: Record = next(iter(of("footer")), {})
    header: Record = next(iter(of("header")), {})
    counts = ("programs", "controls", "no_room", "milliseconds", "processes")
    return Ordering(
        edges=tuple(map(edge_of, of("edge"))),
        findings=tuple(map(finding_of, of("finding"))),
        options=text.line(as_text(header.get("options")), LINE),
        **{name: as_count(footer.get(name)) for name in counts},
    )
