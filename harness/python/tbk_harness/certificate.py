# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A conformance statement and all that it is made from, as one archive; and whether it is so.

Nothing in an archive is believed that can be worked out: the records are judged again, and the
statement and its pages made again, and what differs is named.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import tbk_contracts
from tbk_reports.conformance import Conformance
from tbk_reports.html import render_html
from tbk_reports.model import ResultFile, parse_results
from tbk_reports.statement import (
    Made,
    canonical,
    environment_document,
    headers,
    render_statement,
    statement_document,
)
from tbk_reports.text import line

from tbk_harness import __version__, signature
from tbk_harness.archive import RESULTS, SIGNATURES, SUMS, ArchiveError, Member, order, unpack
from tbk_harness.claim import claim_of, profiles
from tbk_harness.enrich import enrich
from tbk_harness.judge import Known, judge
from tbk_harness.merge import merge
from tbk_harness.verify import problems_of
from tbk_harness.waivers import WaiverError, parse_waivers

MOST_PROBLEMS = 12  # of one member
_SOURCES = (".py", ".j2", ".css", ".js", ".json")


@cache
def own_digest() -> str:
    """Returns a digest of what makes statements: equal digests, equal pages of equal records."""
    found = hashlib.sha256(repr(tbk_contracts.clauses()).encode())
    for package in ("tbk_reports", "tbk_harness"):
        root = Path(str(resources.files(package)))
        for path in sorted(one for one in root.rglob("*") if one.suffix in _SOURCES):
            found.update(f"{package}/{path.relative_to(root).as_posix()}\n".encode())
            found.update(path.read_bytes())
    return found.hexdigest()


# ------------------------------------------------------------------------------------- making ---


@dataclass(frozen=True)
class Source:
    """What a statement is made from."""

    results: Sequence[tuple[str, bytes]]  # by the name of the member
    waivers: bytes = b""
    profile: str = ""

    def merged(self) -> ResultFile:
        return merge([parse_results(data, name) for name, data in self.results])

    def known(self) -> Known:
        """Raises WaiverError."""
        try:
            text = self.waivers.decode("utf-8")
        except UnicodeDecodeError as error:
            raise WaiverError(f"waivers.toml: {error}") from error
        return Known(parse_waivers(text, "waivers.toml"))

    def conformance(self, day: datetime.date) -> Conformance:
        """Judges the records as of a day. Raises WaiverError."""
        results = self.merged()
        judged = judge(enrich(results), self.known(), day)
        return Conformance(judged, claim_of(results, self.profile))


def member_names(count: int) -> list[str]:
    """Returns what the result files are called in an archive."""
    return ["results.jsonl"] if count == 1 else [f"results-{n}.jsonl" for n in range(1, count + 1)]


def sums_of(members: Sequence[Member]) -> bytes:
    """Returns the list of digests, which `sha256sum --check` reads."""
    rows = (f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in members)
    return "".join(rows).encode()


def members_of(source: Source, day: datetime.date) -> tuple[list[Member], Conformance]:
    """Returns the members of an archive without a signature, in their order, and what they say.
    Raises WaiverError."""
    found = source.conformance(day)
    made = Made(__version__, own_digest(), day.isoformat())
    members = dict(_derived(found, made)) | {"waivers.toml": source.waivers} | dict(source.results)
    listed = [(name, members[name]) for name in order([*members]) if name in members]
    return [*listed, (SUMS, sums_of(listed))], found


def _derived(found: Conformance, made: Made) -> list[Member]:
    """Returns the members that follow from the others."""
    return [
        ("statement.json", canonical(statement_document(found, made))),
        ("environment.json", canonical(environment_document(found.judged.header))),
        ("index.html", render_statement(found, made).encode()),
        ("report.html", render_html(found.judged).encode()),
    ]


def signed(members: Sequence[Member], key: Path) -> list[Member]:
    """Returns the same with a signature. Raises signature.SignatureError."""
    return [*members, signature.sign(dict(members)[SUMS], key)]


# ----------------------------------------------------------------------------------- checking ---


@dataclass
class Checked:
    """What is to be said of an archive."""

    problems: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    """What was asked for and is not so, or is so no more, of an archive that may be sound."""
    notes: list[str] = field(default_factory=list)
    stated: Conformance | None = None  # as of the day on which it was issued
    found: Conformance | None = None  # as of today
    signed: bool = False
    signer: signature.Signer | None = None  # where the signature holds, as far as it was checked
    issued: str = ""

    @property
    def authentic(self) -> bool:
        known = self.signer is not None and self.signer.vouched
        return known and not self.problems

    @property
    def faults(self) -> list[str]:
        """Returns all that is to be named; empty for what may be relied on as it stands."""
        return [*self.problems, *self.refusals]

    @property
    def word(self) -> str:
        """Returns what it is called: authentic, consistent, or not so."""
        return "authentic" if self.authentic else "inconsistent" if self.problems else "consistent"


def check(
    data: bytes,
    today: datetime.date,
    signers: Path | None = None,
    public_key: Path | None = None,
) -> Checked:
    """Checks all that can be checked of an archive, and names what does not hold."""
    checked = Checked()
    try:
        members = dict(unpack(data))
    except ArchiveError as error:
        checked.problems.append(str(error))
        return checked
    names = [name for name in members if name != SUMS and name not in SIGNATURES]
    checked.problems += _wrong_sums(members[SUMS], [(name, members[name]) for name in names])
    _check_signature(checked, members, signers, public_key)
    _check_contents(checked, members, today)
    return checked


def _wrong_sums(stated: bytes, members: Sequence[Member]) -> list[str]:
    """Returns which members are not those whose digests are listed."""
    if stated == sums_of(members):
        return []
    rows = set(stated.split(b"\n"))
    wrong = [name for name, data in members if sums_of([(name, data)]).strip() not in rows]
    if not wrong:
        return [f"{SUMS} lists more, or in another order, than there is"]
    return [f"{name} is not the one whose digest stands in {SUMS}" for name in wrong]


def _check_signature(
    checked: Checked, members: Mapping[str, bytes], signers: Path | None, public_key: Path | None
) -> None:
    name = next((one for one in SIGNATURES if one in members), "")
    if not name:
        if signers or public_key:
            checked.refusals.append("it is not signed, and a signature was asked for")
        return
    checked.signed = True
    own, other = (signers, public_key) if name == signature.SSH else (public_key, signers)
    if other and not own:
        option = "--signers" if name == signature.SSH else "--public-key"
        checked.refusals.append(f"it is signed with a key of another kind, for {option}")
        return
    try:
        checked.signer = signature.check(members[SUMS], name, members[name], signers, public_key)
    except signature.SignatureError as error:
        if isinstance(error, signature.ForgedError):
            checked.problems.append(str(error))
        elif own:
            checked.refusals.append(str(error))
        else:
            checked.notes.append(f"its signature was not checked: {error}")


def _load(members: Mapping[str, bytes], name: str, checked: Checked) -> dict[str, Any]:
    try:
        found = json.loads(members[name].decode("utf-8"))
    except (ValueError, RecursionError) as error:
        checked.problems.append(f"{name} is not JSON: {line(str(error), 120)}")
        return {}
    if not isinstance(found, dict):
        checked.problems.append(f"{name} is no object")
        return {}
    return found


def _issued(stated: Mapping[str, Any], today: datetime.date, checked: Checked) -> datetime.date:
    """Returns the day of issue; today where none is stated that can be."""
    try:
        day = datetime.date.fromisoformat(str(stated.get("issued")))
    except ValueError:
        checked.problems.append("statement.json does not say on which day it was issued")
        return today
    if day > today + datetime.timedelta(days=1):  # somebody else's midnight may be before ours
        checked.problems.append(f"statement.json was issued on {day}, which is in the future")
    checked.issued = day.isoformat()
    return day


def _check_contents(checked: Checked, members: Mapping[str, bytes], today: datetime.date) -> None:
    stated = _load(members, "statement.json", checked)
    claim = stated.get("claim")
    profile = str((claim if isinstance(claim, dict) else {}).get("profile") or "")
    if profile and profile not in profiles():
        checked.problems.append(f"this tbk knows no profile {line(profile, 40)}")
        profile = ""
    results = [(name, data) for name, data in members.items() if RESULTS.fullmatch(name)]
    for name, data in results:
        told = problems_of(parse_results(data, name), data)
        checked.problems += [f"{name}: {one}" for one in told[:MOST_PROBLEMS]]
    if [name for name, _ in results] != member_names(len(results)):
        checked.problems.append("its result files are not numbered from 1 on")
    source = Source(results, members["waivers.toml"], profile)
    day = _issued(stated, today, checked)
    try:
        checked.stated = source.conformance(day)
        checked.found = source.conformance(today)
    except WaiverError as error:
        checked.problems.append(str(error))
        return
    _compare(checked, members, stated, day)
    _compare_days(checked, checked.stated, checked.found)


def _compare(
    checked: Checked, members: Mapping[str, bytes], stated: Mapping[str, Any], day: datetime.date
) -> None:
    """Makes again what follows from the records, and names what is not the same."""
    found = checked.stated
    if found is None:
        return
    finished = str(found.judged.footer.get("finished") or "")[:10]
    if finished > day.isoformat():
        checked.problems.append(f"statement.json was issued on {day}, before the run had ended")
    made = Made(__version__, own_digest(), day.isoformat())
    mine = statement_document(found, made)
    if stated.get("made_with") == mine["made_with"]:
        derived = _derived(found, made)
        checked.problems += _differences(stated, mine)
        checked.problems += [
            f"{name} is not what this tbk makes of the records"
            for name, data in derived
            if members[name] != data
        ]
        return
    checked.problems += _differences(stated, mine, ("word", "claim", "digests", "waivers"))
    checked.problems += _state_differences(stated, mine)
    if members["environment.json"] != canonical(environment_document(found.judged.header)):
        checked.problems.append("environment.json is not what the records say")
    checked.notes.append(
        "another tbk made this archive, so its pages were not compared: tbk report makes them anew "
        "of results.jsonl"
    )


def _differences(
    stated: Mapping[str, Any], mine: Mapping[str, Any], names: Sequence[str] = ()
) -> list[str]:
    """Returns what the statement says, and what the records make of it."""
    found = []
    for name in names or (*mine, *(one for one in stated if one not in mine)):
        if stated.get(name) != mine.get(name):
            short = isinstance(mine.get(name), str)
            more = f" {line(str(stated.get(name)), 80)!r}; it is {mine[name]!r}" if short else ""
            found.append(f"statement.json has another {line(name, 40)} than the records make{more}")
    return found


def _state_differences(stated: Mapping[str, Any], mine: Mapping[str, Any]) -> list[str]:
    rows = stated.get("clauses")
    said = {row.get("id"): row.get("state") for row in rows if isinstance(row, dict)} if (
        isinstance(rows, list)) else {}  # fmt: skip
    other = [row["id"] for row in mine["clauses"] if said.get(row["id"]) != row["state"]]
    if not other:
        return []
    return [f"statement.json has another state than the records make, of {', '.join(other[:6])}"]


def _compare_days(checked: Checked, stated: Conformance, found: Conformance) -> None:
    """Says what has changed since the day of issue: a waiver that has expired."""
    if stated.word != found.word:
        since = next(iter(found.reasons.values()), ("",))[-1]
        checked.refusals.append(
            f"what was {stated.word!r} on the day of issue is {found.word!r} today: {since}"
        )


def other_library(found: Conformance, library: bytes) -> str:
    """Returns in words why the statement is not about this library; empty where it is."""
    stated = [one.get("backend") for one in headers(found.judged.header).values()]
    digests = [one.get("digest") for one in stated if isinstance(one, Mapping)]
    mine = hashlib.sha256(library).hexdigest()
    wanted = [str(one).removeprefix("sha256:") for one in digests if one]
    if not wanted:
        return "can't be compared: the run named no library"
    return "" if set(wanted) == {mine} else f"has the digest {mine}; the run was of {wanted[0]}"
