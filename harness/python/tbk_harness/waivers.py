# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Waivers: known failures with an owner, a reason and an end. They are read strictly."""

from __future__ import annotations

import datetime
import fnmatch
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tbk_reports.given import read_given
from tbk_reports.model import WAIVABLE

from tbk_harness.selectors import names

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REQUIRED = ("owner", "reason", "link", "versions", "kind", "expires")
KEYS = frozenset({*REQUIRED, "clause", "test"})
_CLAUSE = re.compile(r"[A-Z]{3}-\d{3}")


class WaiverError(ValueError):
    """A waiver file that can't be taken as it stands; one line that names file and entry."""


@dataclass(frozen=True)
class Waiver:
    """One entry. It covers one test, with any parameters where it names none, or all tests of one
    clause."""

    owner: str
    reason: str
    link: str
    versions: tuple[str, ...]
    kind: str
    expires: datetime.date
    clause: str = ""
    test: str = ""

    @property
    def subject(self) -> str:
        return self.test or self.clause

    def covers(self, test_id: str, clause: str) -> bool:
        return names(self.test, test_id) if self.test else clause == self.clause

    def applies_to(self, version: str) -> bool:
        return any(fnmatch.fnmatchcase(version, pattern) for pattern in self.versions)

    @property
    def words(self) -> str:
        return f"{self.subject}: {self.reason} ({self.owner}, {self.link}, until {self.expires})"


def _text(entry: Mapping[str, object], key: str, name: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str) or (key in entry and not value.strip()):
        raise WaiverError(f"{name}: {key} must be a text that is not empty")
    return value


def _versions(entry: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = entry["versions"]
    items = value if isinstance(value, list) else [value]
    if not items or not all(isinstance(item, str) and item for item in items):
        raise WaiverError(f'{name}: versions must be a pattern such as "1.4.*", or several')
    return tuple(map(str, items))


def _waiver(entry: object, name: str) -> Waiver:
    if not isinstance(entry, dict):
        raise WaiverError(f"{name}: not a table")
    unknown = sorted(set(entry) - KEYS)
    if unknown:
        raise WaiverError(
            f"{name}: unknown key {unknown[0]!r}; there are {', '.join(sorted(KEYS))}"
        )
    missing = [key for key in REQUIRED if key not in entry]
    if missing:
        raise WaiverError(f"{name}: {missing[0]} is missing")
    if ("clause" in entry) == ("test" in entry):
        raise WaiverError(f"{name}: either clause or test must be given")
    expires = entry["expires"]
    if not isinstance(expires, datetime.date) or isinstance(expires, datetime.datetime):
        raise WaiverError(f"{name}: expires must be a date such as 2027-01-31, without quotes")
    clause = _text(entry, "clause", name)
    if clause and not _CLAUSE.fullmatch(clause):
        raise WaiverError(f"{name}: {clause!r} is no clause id")
    kind = _text(entry, "kind", name)
    if kind not in WAIVABLE:
        raise WaiverError(f"{name}: kind must be one of {', '.join(sorted(WAIVABLE))}")
    return Waiver(
        owner=_text(entry, "owner", name),
        reason=_text(entry, "reason", name),
        link=_text(entry, "link", name),
        versions=_versions(entry, name),
        kind=kind,
        expires=expires,
        clause=clause,
        test=_text(entry, "test", name),
    )


def parse_waivers(text: str, name: str) -> tuple[Waiver, ...]:
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise WaiverError(f"{name}: {error}") from error
    unknown = sorted(set(document) - {"waiver"})
    if unknown:
        raise WaiverError(f"{name}: unknown key {unknown[0]!r}; entries are [[waiver]] tables")
    entries = document.get("waiver", [])
    if not isinstance(entries, list):
        raise WaiverError(f"{name}: entries are [[waiver]] tables")
    found = tuple(
        _waiver(entry, f"{name}, entry {number}") for number, entry in enumerate(entries, 1)
    )
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for number, waiver in enumerate(found, 1):
        key = (waiver.subject, waiver.versions)
        if key in seen:
            raise WaiverError(f"{name}, entry {number}: {waiver.subject} is waived twice")
        seen.add(key)
    return found


def load_waivers(path: Path) -> tuple[Waiver, ...]:
    try:
        text = read_given(path).decode("utf-8")
    except OSError as error:
        raise WaiverError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise WaiverError(f"{path}: {error}") from error
    return parse_waivers(text, str(path))
