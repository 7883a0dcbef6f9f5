# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A result file that contradicts itself is named, though its digest was made anew."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import synthetic
from tbk_harness.verify import verify

Change = Callable[[bytes], bytes]


def _changed(path: Path, change: Change) -> list[str]:
    """Returns what is said of a sound run whose records are changed and whose footer fits them."""
    records = synthetic.passing(4)
    synthetic.write(path, records, synthetic.header(4))
    assert verify(path) == []
    *rows, last = path.read_bytes().splitlines(keepends=True)
    body = change(b"".join(rows))
    footer = json.loads(last) | {"digest": hashlib.sha256(body).hexdigest()}
    path.write_bytes(body + json.dumps(footer).encode() + b"\n")
    return verify(path)


@pytest.mark.parametrize("name", [b"verdict", rb"\u0076erdict"], ids=["plain", "escaped"])
def test_a_record_with_two_verdicts_is_named(tmp_path: Path, name: bytes) -> None:
    def twice(body: bytes) -> bytes:
        return body.replace(b'"verdict"', b'"%s": "fail", "verdict"' % name, 1)

    assert _changed(tmp_path / "a.jsonl", twice) == ["line 2 says 'verdict' twice"]


def test_what_stands_behind_a_footer_is_named(tmp_path: Path) -> None:
    first = b'{"record": "footer", "verdict": "fail", "exit_code": 1}\n'
    told = _changed(tmp_path / "a.jsonl", lambda body: body + first)
    assert "line 7 stands behind the footer, which is line 6" in told


def test_a_pass_with_failed_checks_is_named(tmp_path: Path) -> None:
    def failed(body: bytes) -> bytes:
        rows = [json.loads(row) for row in body.splitlines()]
        rows[2]["failures"] = 3
        return b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    (told,) = _changed(tmp_path / "a.jsonl", failed)
    assert told.endswith(" passes, with 3 failed checks")
