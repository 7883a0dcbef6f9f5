# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The callback to PyTorch's CI fits what its action says that it takes."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import judged
import pytest
import synthetic
from tbk_reports.callback import MOST_BYTES, callback

# There is no published schema: the limits are those that the action's description states.
TEXT = {"type": "string", "maxLength": 1024}
COUNT = {"type": "integer", "minimum": 0}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["conclusion", "test-results", "failed-tests-detail"],
    "properties": {
        "conclusion": {"enum": ["success", "failure"]},
        "test-results": {
            "type": "object",
            "additionalProperties": False,
            "required": ["passed", "failed", "skipped"],
            "properties": dict.fromkeys(("passed", "failed", "skipped", "total"), COUNT),
        },
        "failed-tests-detail": {
            "type": "array",
            "maxItems": 1000,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name"],
                "properties": {
                    **dict.fromkeys(("name", "classname", "message"), TEXT),
                    "stacktrace": {"type": "string", "maxLength": 4096},
                    "duration": {"type": "number", "minimum": 0},
                },
            },
        },
        "triage-verdict": {
            "type": "object",
            "additionalProperties": False,
            "required": ["schema_version", "category", "confidence", "summary"],
            "properties": {
                "schema_version": {"const": 1},
                "category": {"enum": ["upstream", "backend", "infra", "flake", "unknown"]},
                "confidence": {"enum": ["high", "medium", "low"]},
                "summary": TEXT,
                "analyzer": {"type": "object"},
            },
        },
    },
}


@pytest.mark.parametrize(
    ("records", "changes", "conclusion", "category"),
    [
        (synthetic.passing(), {}, "success", None),
        (synthetic.failing(), {}, "failure", "backend"),
        (synthetic.every_verdict(), {}, "failure", "unknown"),
        (synthetic.hostile(), {}, "failure", "backend"),
        (synthetic.wall(), {}, "failure", "backend"),
        ([synthetic.case(0, "fail", blame="pytorch")], {}, "failure", "upstream"),
        ([], {"verdict": "error", "exit_code": 5}, "failure", "infra"),
        ([synthetic.case(0, "unsupported")], {}, "failure", "unknown"),
        ([synthetic.case(0), synthetic.case(1, "xfail")], {}, "success", None),
    ],
)
def test_every_run_fits_the_schema(
    records: list[Any], changes: dict[str, Any], conclusion: str, category: str | None
) -> None:
    found = callback(judged.judged(records, **changes))
    jsonschema.validate(found, SCHEMA)
    assert found["conclusion"] == conclusion
    assert found.get("triage-verdict", {}).get("category") == category
    counts = found["test-results"]
    assert counts["total"] == counts["passed"] + counts["failed"] + counts["skipped"]
    assert counts["total"] == len(records)
    assert len(json.dumps(found["failed-tests-detail"])) <= MOST_BYTES + 2
    assert "\n" not in json.dumps(found)  # it is one line of the outputs of a step


def test_a_crash_survives_the_limit() -> None:
    records = [synthetic.case(at, "fail") for at in range(3000)] + [synthetic.case(3000, "crash")]
    first = callback(judged.judged(records))["failed-tests-detail"][0]
    assert first["message"].startswith("crash: ")
