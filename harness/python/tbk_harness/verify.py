# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Recomputes whatever a result file states about itself, and compares it with the schema."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
from tbk_reports.extent import simulated
from tbk_reports.given import read_given
from tbk_reports.model import (
    ERRORS,
    EXIT_FINDINGS,
    EXIT_PASS,
    MORE_KINDS,
    ResultFile,
    parse_line,
    parse_results,
)
from tbk_reports.text import line

from tbk_harness.locate import result_schema

LIMIT = 20
EXIT_CODES = {"pass": (EXIT_PASS,), "fail": (EXIT_FINDINGS,), "error": ERRORS}


def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(result_schema().read_text("utf-8"))
    return schema


def _validators() -> dict[str, jsonschema.Draft202012Validator]:
    """Returns one validator a kind of record, so that a message names the member and not three
    branches."""
    schema = _schema()
    return {
        kind: jsonschema.Draft202012Validator(
            {"$schema": schema["$schema"], "$defs": schema["$defs"], "$ref": f"#/$defs/{kind}"}
        )
        for kind in ("header", "test", *MORE_KINDS, "footer")
    }


def schema_problems(data: bytes) -> list[str]:
    validators = _validators()
    found: list[str] = []
    for number, raw in enumerate(data.split(b"\n"), 1):
        if not raw.strip():
            continue
        try:
            record = parse_line(raw)
        except ValueError:
            continue  # told by the reader of the file
        kind = str(record.get("record")) if isinstance(record, dict) else ""
        if kind not in validators:
            found.append(f"line {number}: no record of a known kind")
            continue
        found += [
            f"line {number}, {'.'.join(map(str, error.path)) or kind}: {line(error.message, 160)}"
            for error in validators[kind].iter_errors(record)
        ]
        if len(found) > LIMIT:
            return [*found[:LIMIT], "and more"]
    return found


def _unsaid(result: ResultFile) -> list[str]:
    """What ran on a simulated device must say so where the verdict stands."""
    if result.footer is None or result.footer.get("simulated") is True:
        return []
    if not simulated(result.header, {}):
        return []
    return ["a device is simulated, and the footer does not say so"]


def _two_stories(result: ResultFile) -> list[str]:
    """Verdict and exit code of the footer say the same."""
    footer = result.footer or {}
    verdict, code = footer.get("verdict"), footer.get("exit_code")
    if verdict not in EXIT_CODES or code in EXIT_CODES[str(verdict)]:
        return []
    return [f"the footer says {verdict!r} with the exit code {line(str(code), 20)}"]


def _said_twice(data: bytes) -> list[str]:
    """A member that an object has twice is one thing to one reader, and another to the next; and so
    is what stands behind the footer."""
    found: list[str] = []
    ended = 0
    for number, raw in enumerate(data.split(b"\n"), 1):
        if not raw.strip():
            continue
        if ended:
            found.append(f"line {number} stands behind the footer, which is line {ended}")
        twice: list[str] = []
        with contextlib.suppress(ValueError, RecursionError):  # told by the reader of the file
            record = json.loads(raw, object_pairs_hook=functools.partial(_once, twice))
            is_footer = isinstance(record, dict) and record.get("record") == "footer"
            ended = number if is_footer else ended
        found += [f"line {number} says {line(name, 40)!r} twice" for name in twice]
        if len(found) > LIMIT:
            return [*found[:LIMIT], "and more"]
    return found


def _once(twice: list[str], pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the object, and adds the names that it has more than once."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice += [name for name in made if names.count(name) > 1]
    return made


def _passes_with_failures(result: ResultFile) -> list[str]:
    """A verdict that its own record does not bear out."""
    return [
        f"{line(test.id, 120)} passes, with {test.failures:,} failed checks"
        for test in result.tests
        if test.recorded == "pass" and test.failures > 0
    ][:LIMIT]


def verify(path: Path) -> list[str]:
    """Returns all that is wrong with a result file; empty for a sound one. Raises OSError."""
    data = read_given(path)
    return problems_of(parse_results(data, str(path)), data)


def problems_of(result: ResultFile, data: bytes) -> list[str]:
    """Returns all that is wrong with a result file that was read from `data`."""
    return [
        *result.problems, *_unsaid(result), *_two_stories(result), *_passes_with_failures(result),
        *_said_twice(data), *schema_problems(data),
    ]  # fmt: skip
