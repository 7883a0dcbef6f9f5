# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a layer that a farm ran, as the one file that one machine would have written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tbk_reports.model import EXIT_INTERRUPTED, EXIT_SUITE_ERROR

from tbk_harness.layers import Piece, Record, footer, piece
from tbk_harness.merge import merge


@dataclass(frozen=True)
class Shard:
    """A part that came back: its file, and where it ran."""

    number: int
    path: Path
    node: str
    library: str = ""
    """Where the library was on that node."""
    seconds: float = 0.0


def _here(one: Piece, shard: Shard, library: str) -> Piece:
    """Returns the part with the library where the user has it."""
    if not shard.library or shard.library == library:
        return one
    header = dict(one.read.header)
    if isinstance(header.get("backend"), dict):
        header["backend"] = {**header["backend"], "path": library}
    header["command"] = _renamed(header.get("command"), shard.library, library)
    records = [
        {**record, "replay": _renamed(record.get("replay"), shard.library, library)}
        if "replay" in record
        else record
        for record in one.records
    ]
    return Piece(replace(one.read, header=header), records)


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, list):
        return [_renamed(item, old, new) for item in value]
    return value.replace(old, new) if isinstance(value, str) else value


def nodes(shards: Sequence[Shard], pieces: Sequence[Piece]) -> dict[str, dict[str, Any]]:
    """Returns what each node ran."""
    found: dict[str, dict[str, Any]] = {}
    for shard, one in zip(shards, pieces, strict=True):
        told = found.setdefault(shard.node, {"parts": 0, "tests": 0, "seconds": 0.0})
        told["parts"] += 1
        told["tests"] += len(one.read.tests)
        told["seconds"] = round(told["seconds"] + shard.seconds, 3)
    return dict(sorted(found.items()))


def compose(
    shards: Sequence[Shard], of: int, library: str, farm: Mapping[str, Any], output: Path,
    spent_ns: int,
) -> int:  # fmt: skip
    """Writes the shards that are there as one file, and returns the exit code of the whole.

    A test's record says on which node it ran. Where shards are missing there is no footer: the run
    was interrupted. Shards that do not fit together make it a suite error. Raises OSError.
    """
    ordered = sorted(shards, key=lambda shard: shard.number)
    pieces = [_here(piece(shard.path), shard, library) for shard in ordered]
    whole = merge([one.read for one in pieces])
    missing = of - len(ordered)
    records: list[Record] = []
    for shard, one in zip(ordered, pieces, strict=True):
        records += [{**record, "node": shard.node} for record in one.records]
    for index, record in enumerate(one for one in records if one.get("record") == "test"):
        record["index"] = index
    header = {
        **pieces[0].read.header, "planned": whole.header.get("planned", 0), "shard": None,
        "farm": {**farm, "parts": of, "missing": missing, "nodes": nodes(ordered, pieces)},
    }  # fmt: skip
    body = b"".join(_line(record) for record in (header, *records))
    torn = bool(missing) or any(one.read.footer is None for one in pieces)
    code = EXIT_INTERRUPTED
    if not torn:
        # A part may be empty; the whole must not be.
        told = [one for one in pieces if one.read.tests] or pieces
        end = footer(told, hashlib.sha256(body).hexdigest(), spent_ns)
        end["duration_ns"] = spent_ns
        if whole.problems:
            wrong = {"verdict": "error", "exit_code": EXIT_SUITE_ERROR}
            end |= {**wrong, "reason": whole.problems[0]}
        body += _line(end)
        code = int(end["exit_code"])
    waiting = output.with_name(output.name + ".part")
    waiting.write_bytes(body)
    waiting.replace(output)
    return code


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"
