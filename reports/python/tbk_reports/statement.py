# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A conformance statement as data and as a page."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from . import text
from .badge import badge_of_statement
from .conformance import CONFORMANT, GOOD, NO_VERDICT, NOT_CONFORMANT, STATES, Conformance
from .html import page
from .view import View

Record = dict[str, Any]
# Of a layer's header: what a run says of where it ran.
ENVIRONMENT = (
    "suite", "spec", "backend", "devices", "capabilities", "capability_notes", "torch", "machine",
    "command", "seed", "jobs", "isolation", "gate", "tier", "budget", "started", "planned",
    "selection", "required", "shard", "repeat",
)  # fmt: skip
TONES = {
    "violated": "bad", "recommendation not met": "warn", "waived": "warn", "proven": "good",
}  # fmt: skip
ICONS = {
    "violated": "fail", "recommendation not met": "warning", "waived": "xfail", "proven": "pass",
    "proven in part": "partly", "trivially true": "trivial", "not shown": "not-shown",
    "not tested": "unsupported", "not testable": "left-out",
}  # fmt: skip
NEVER_SHOWN = (
    "that these records come from a run of this suite on this device: a file cannot show that, "
    "and a signature says only whose word it is",
    "anything of another library, driver, PyTorch or machine than those whose digests stand here",
    "anything of a clause that is not shown, not tested or not testable, and no ordering of one "
    "that is trivially true",
    "that the device is fast",
)


@dataclass(frozen=True)
class Made:
    """By what a statement was made, and on which day (ISO 8601, UTC)."""

    version: str
    digest: str
    issued: str


def canonical(value: object) -> bytes:
    """Returns JSON that is the same for the same value: keys in order, one line a member."""
    said = json.dumps(value, ensure_ascii=True, indent=1, sort_keys=True, allow_nan=False)
    return said.encode() + b"\n"


def digest_of(value: object) -> str:
    """Returns the SHA-256 of that."""
    return hashlib.sha256(canonical(value)).hexdigest()


def headers(header: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Returns the header of each layer of a run."""
    layers = header.get("layers")
    if isinstance(layers, Mapping) and layers:
        return {str(name): one for name, one in layers.items() if isinstance(one, Mapping)}
    return {str(header.get("layer") or "c"): header}


def environment_document(header: Mapping[str, Any]) -> Record:
    """Returns where a run ran, by layer."""
    layers = {
        name: {member: one[member] for member in ENVIRONMENT if member in one}
        for name, one in headers(header).items()
    }
    return {"format": 1, "kind": "tbk-environment", "typed": header.get("typed"), "layers": layers}


def _digests(header: Mapping[str, Any]) -> Record:
    """Returns by layer what was judged with what: the file's own digests; of PyTorch and the
    machine, which have none, the digest of what the file says of them."""

    def stated(one: Mapping[str, Any], member: str) -> object:
        found = one.get(member)
        return found.get("digest") if isinstance(found, Mapping) else None

    return {
        name: {
            "suite": stated(one, "suite"),
            "spec": stated(one, "spec"),
            "backend_library": stated(one, "backend"),
            "pytorch": digest_of(one["torch"]) if one.get("torch") else None,
            "machine": digest_of([one.get("machine"), one.get("devices")]),
        }
        for name, one in headers(header).items()
    }


def _version(header: Mapping[str, Any], member: str) -> str:
    found = header.get(member)
    return text.line(str(found.get("version") or ""), 60) if isinstance(found, Mapping) else ""


def statement_document(found: Conformance, made: Made) -> Record:
    """Returns the statement as JSON."""
    header = found.judged.header
    torch = next((one for one in headers(header).values() if one.get("torch")), {})
    return {
        "format": 1,
        "kind": "tbk-conformance-statement",
        "issued": made.issued,
        "made_with": {"version": made.version, "digest": made.digest},
        "word": found.word,
        "sentence": found.sentence,
        "reasons": {word: list(why) for word, why in found.reasons.items()},
        "claim": {
            "profile": found.claim.profile or None,
            "backend": found.judged.backend_name,
            "version": found.judged.backend_version,
            "suite": _version(header, "suite"),
            "pytorch": _version(torch, "torch") or None,
            "layers": list(found.extent.layers),
            "tier": found.extent.tier,
        },
        "run": {
            "started": header.get("started"),
            "finished": found.judged.footer.get("finished"),
            "tests": len(found.judged.tests),
            "verdicts": found.judged.counts,
            "complete": not found.extent.partial,
            "simulated": found.extent.simulated,
        },
        "digests": _digests(header),
        "waivers": list(found.judged.waivers),
        "counts": found.counts,
        "clauses": [
            {name: value for name, value in asdict(row).items() if value not in ("", None)}
            for row in found.rows
        ],
    }


def render_statement(found: Conformance, made: Made) -> str:
    """Returns the statement as one self-contained page."""
    document = statement_document(found, made)
    word = found.word
    rows = {state: [row for row in found.rows if row.state == state] for state in found.counts}
    context = {
        "found": found,
        "view": View(found.judged),
        "made": made,
        "document": document,
        "rows": rows,
        "meaning": STATES,
        "tones": TONES,
        "icons": ICONS,
        "tone": "good" if word == CONFORMANT else "bad" if word == NOT_CONFORMANT else "warn",
        "verdict_class": _CLASSES.get(word, "partial"),
        "glyph_name": "pass" if word in GOOD else "fail" if word == NOT_CONFORMANT else "left-out",
        "never": NEVER_SHOWN,
        "digests": _digest_rows(document["digests"]),
        "badge": badge_of_statement(found).message,
    }
    return page("statement.html.j2", context, {"word": word, "counts": found.counts})


_CLASSES = {CONFORMANT: "pass", NOT_CONFORMANT: "fail", NO_VERDICT: "error"}
_NAMES = {
    "suite": "suite", "spec": "spec", "backend_library": "backend library",
    "pytorch": "PyTorch, as described", "machine": "machine and devices, as described",
}  # fmt: skip


def _digest_rows(digests: Mapping[str, Mapping[str, object]]) -> list[tuple[str, str]]:
    return [
        (f"{_NAMES[name]} ({layer})", text.line(str(digest), 80))
        for layer, named in digests.items()
        for name, digest in named.items()
        if digest
    ]
