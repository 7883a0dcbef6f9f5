# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The judged run as one JSON document, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from .calls import traced
from .extent import extent
from .model import Judged, Test, as_count, as_text, read_record
from .operators import operator_document, operators
from .profile import share, share_document


def judged_document(judged: Judged) -> dict[str, Any]:
    """Returns the judged run as JSON."""
    found = extent(judged)
    return {
        "format": 1,
        "kind": "tbk-judged",
        "verdict": judged.verdict,
        "exit_code": judged.exit_code,
        "tier": found.tier,
        "complete": not found.partial,
        "missing": list(found.missing),
        "backend": {"name": judged.backend_name, "version": judged.backend_version},
        "counts": judged.counts,
        "problems": list(judged.problems),
        "waivers": list(judged.waivers),
        "sources": list(judged.sources),
        "baseline": list(judged.baseline),
        "notes": list(judged.notes),
        "operators": operator_document(operators(judged.tests, judged.trace)),
        "trace": judged.trace,
        "profile": judged.profile,
        "share": share_document(share(judged)),
        "header": judged.header,
        "footer": judged.footer,
        "tests": [_lean(test) for test in judged.tests],
    }


# Without `asked`, which the digits of `calls` say, and `bases`, which the spec says.
_NAMES = tuple(one.name for one in fields(Test) if one.name not in ("asked", "bases"))


def _lean(test: Test) -> dict[str, object]:
    values = ((name, getattr(test, name)) for name in _NAMES)
    return {name: value for name, value in values if value not in ("", 0, {}, ())}


def judged_from_document(document: Mapping[str, Any]) -> Judged:
    tests: Iterable[Mapping[str, object]] = document.get("tests") or ()
    names = traced(document.get("header") or {})
    return Judged(
        header=dict(document.get("header") or {}),
        footer=dict(document.get("footer") or {}),
        tests=tuple(read_record(test, names) for test in tests),
        verdict=as_text(document.get("verdict")),
        exit_code=as_count(document.get("exit_code")),
        problems=tuple(document.get("problems") or ()),
        waivers=tuple(document.get("waivers") or ()),
        sources=tuple(document.get("sources") or ()),
        baseline=tuple(document.get("baseline") or ()),
        notes=tuple(document.get("notes") or ()),
        profile=dict(document.get("profile") or {}),
        trace=dict(document.get("trace") or {}),
    )
