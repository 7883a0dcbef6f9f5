# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Judged runs for the renderers; they see no judge, only what one makes."""

from __future__ import annotations

from typing import Any

import synthetic
from tbk_reports.model import Judged, read_record

HARMLESS = {"pass", "warning", "xfail", "unsupported", "not-shown", "left-out"}


def judged(records: list[synthetic.Record], **changes: Any) -> Judged:
    verdicts = {record["verdict"] for record in records}
    error = "suite-error" in verdicts or not records
    bad = bool(verdicts - HARMLESS - {"suite-error"})
    values: dict[str, Any] = {
        "header": synthetic.header(len(records)),
        "footer": {"finished": "2026-03-01T12:00:02Z", "duration_ns": 1_840_000_000},
        "tests": tuple(map(read_record, records)),
        "verdict": "fail" if bad else "error" if error else "pass",
        "exit_code": 1 if bad else 6 if error else 0,
    }
    return Judged(**{**values, **changes})


def hostile() -> Judged:
    return judged(
        synthetic.hostile(),
        header=synthetic.hostile_header(40),
        problems=(synthetic.HOSTILE,),
        sources=(synthetic.HOSTILE,),
    )
