# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What was run in parts, one a layer, as one result file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tbk_contracts
from tbk_reports.litmus import LAYER, is_litmus_id
from tbk_reports.model import (
    EXIT_FINDINGS,
    EXIT_INTERRUPTED,
    EXIT_NOTHING_SELECTED,
    EXIT_PASS,
    EXIT_SUITE_ERROR,
    ResultFile,
    parse_line,
    read_results,
)
from tbk_reports.text import line

from tbk_harness import child
from tbk_harness.runner import Ended

Record = dict[str, Any]
VERDICTS = ("pass", "fail", "error")  # the worst one last


@dataclass(frozen=True)
class Part:
    """One run of tbk-run."""

    layer: str
    path: Path
    ended: Ended

    @property
    def written(self) -> bool:
        return self.path.exists() and self.path.stat().st_size > 0

    def disagreement(self) -> tuple[int, str] | None:
        """Returns an exit code and a sentence, where the file and tbk-run's end tell different
        stories."""
        footer = read_results(self.path).footer if self.written else None
        if footer is not None and footer.get("exit_code") == self.ended.exit_code:
            return None
        said = line(self.ended.said, 300)
        problem = f"{self.ended.by} ended with status {self.ended.exit_code}"
        if not self.written:
            problem = said or problem
        elif said:
            problem += f": {said}"
        lost = EXIT_INTERRUPTED if self.written and footer is None else EXIT_SUITE_ERROR
        return child.exit_code(self.ended.exit_code, lost), problem


@dataclass(frozen=True)
class Piece:
    """A part as it stands in its file."""

    read: ResultFile
    records: list[Record]  # all but header and footer


def piece(path: Path) -> Piece:
    """Reads a part. Raises OSError."""
    records = []
    for raw in path.read_bytes().splitlines():
        try:
            record = parse_line(raw)
        except ValueError:
            continue  # one of the problems of `read`
        if isinstance(record, dict) and record.get("record") not in ("header", "footer"):
            records.append(record)
    return Piece(read_results(path), records)


def _number(record: Record | None, name: str) -> int:
    value = (record or {}).get(name)
    return value if isinstance(value, int) else 0


def _words(value: object) -> list[str]:
    return list(map(str, value)) if isinstance(value, list) else []


def _header(pieces: Sequence[Piece]) -> Record:
    """Returns the first one's, with both whole beside it."""
    # Litmus programs are of the C layer's library, and no layer of their own.
    all_planned = sum(_number(piece.read.header, "planned") for piece in pieces)
    headers = [piece.read.header for piece in pieces if not _is_litmus(piece)]
    if len(headers) == 1:
        return {**headers[0], "planned": all_planned}
    layers = {str(header.get("layer") or "c"): header for header in headers}
    first = {name: value for name, value in headers[0].items() if name != "layer"}
    words = dict.fromkeys(word for header in headers for word in _words(header.get("selection")))
    return {**first, "planned": all_planned, "selection": list(words), "layers": layers}


def _verdict(footer: Record) -> str:
    verdict = footer.get("verdict")
    return str(verdict) if verdict in VERDICTS else "error"


def footer(pieces: Sequence[Piece], digest: str, spent_ns: int) -> Record:
    """Returns that of the whole: the worst of them, with the sums of what they count."""
    footers: list[Record] = [dict(piece.read.footer or {}) for piece in pieces]
    of_layers = [piece for piece in pieces if not _is_litmus(piece)]
    busy = [piece for piece in of_layers if not _idle(piece)] or of_layers
    # A layer's footer says more, so it stands for both where they are equally bad.
    told = [*filter(_is_litmus, pieces), *busy]
    ends: list[Record] = [dict(piece.read.footer or {}) for piece in told]
    worst = dict(sorted(ends, key=lambda footer: VERDICTS.index(_verdict(footer)))[-1])
    problems = [problem for piece in pieces for problem in piece.read.problems]
    if problems:
        worst |= {"verdict": "error", "exit_code": EXIT_SUITE_ERROR, "reason": problems[0]}
    counts: dict[str, int] = {}
    for footer in footers:
        stated = footer.get("counts")
        for name, count in (stated if isinstance(stated, dict) else {}).items():
            counts[name] = counts.get(name, 0) + (count if isinstance(count, int) else 0)
    sick = [str(one.get("health")) for one in footers if one.get("health") not in (None, "", "ok")]
    return {
        **worst,
        "counts": counts,
        "planned": sum(_number(footer, "planned") for footer in footers),
        "recorded": sum(_number(footer, "recorded") for footer in footers),
        # The parts and what lies between them; after --resume the parts are older than we are.
        "duration_ns": max(spent_ns, sum(_number(footer, "duration_ns") for footer in footers)),
        "finished": next((one["finished"] for one in footers[::-1] if one.get("finished")), None),
        "health": sick[0] if sick else "ok",
        "digest": digest,
        "simulated": any(footer.get("simulated") is True for footer in footers),
    }


def _is_litmus(piece: Piece) -> bool:
    return piece.read.header.get("layer") == LAYER


def _idle(piece: Piece) -> bool:
    """Tests were planned, and none was run: that takes no verdict of another layer away."""
    footer = piece.read.footer or {}
    return bool(piece.read.tests) and footer.get("exit_code") == EXIT_NOTHING_SELECTED


def _empty(piece: Piece) -> bool:
    header, footer = piece.read.header, piece.read.footer or {}
    nothing = footer.get("exit_code") == EXIT_NOTHING_SELECTED and not piece.read.tests
    return nothing and not header.get("selection")


def had(header: Mapping[str, Any], test: str, clauses: Sequence[str]) -> bool:
    """Returns whether a run was of the layer to which a test, or one of these clauses, belongs."""
    if is_litmus_id(test):  # what programs did not show this time may still be there
        return False
    stated, one = header.get("layers"), header.get("layer")
    if not isinstance(stated, Mapping) and not one:
        return True
    ran = set(stated) if isinstance(stated, Mapping) else {str(one)}
    if test:
        return ("torch" if test.startswith("torch_") else "c") in ran
    known = [one for one in map(tbk_contracts.clause, clauses) if one is not None]
    return not known or any(ran & set(one.layer) for one in known)


def compose(
    paths: Sequence[Path],
    more: Sequence[Record],
    output: Path,
    spent_ns: int = 0,
    typed: Sequence[str] = (),
    not_begun: Sequence[str] = (),
) -> None:
    """Writes one file of several, with further records, of a run that took `spent_ns` from start to
    end and that a user asked for with the command `typed`; `not_begun` are the layers that were
    asked for and never came. Raises OSError.

    The parts are of one run and of layers that share no test. What is wrong with a part is wrong
    with the whole: one without a footer leaves it without one.
    """
    pieces = [piece(path) for path in paths]
    # A shard may be empty in one of the layers; that is a verdict where it is so in all of them.
    pieces = [one for one in pieces if not _empty(one)] or pieces
    records = [record for piece in pieces for record in piece.records]
    for index, record in enumerate(one for one in records if one.get("record") == "test"):
        record["index"] = index
    header = _header(pieces) | ({"typed": list(typed)} if typed else {})
    header |= {"not_begun": list(not_begun)} if not_begun else {}
    lines = [header, *records, *more]
    body = b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in lines)
    if all(piece.read.footer is not None for piece in pieces):
        end = footer(pieces, hashlib.sha256(body).hexdigest(), spent_ns)
        body += json.dumps(end, separators=(",", ":")).encode() + b"\n"
    waiting = output.with_name(output.name + ".part")
    waiting.write_bytes(body)
    waiting.replace(output)


def stops_here(ended: Ended, selected: bool) -> bool:
    """Returns whether the other layer could say nothing after this end. A shard may well be
    empty in one of them; what was selected by name is not."""
    if ended.exit_code == EXIT_NOTHING_SELECTED:
        return selected
    return ended.exit_code not in (EXIT_PASS, EXIT_FINDINGS, EXIT_SUITE_ERROR)
