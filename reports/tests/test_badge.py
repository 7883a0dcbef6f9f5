# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Badges: what they say, and that both say it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest
import synthetic
from judged import judged
from tbk_reports.badge import COLOURS, Badge, badge_of_run

SIMULATED = {"devices": [{"name": "x", "simulated": True}]}


def _badge(records: list[synthetic.Record], **changes: Any) -> Badge:
    head = synthetic.header(len(records), **changes)
    return badge_of_run(judged(records, header=head))


@pytest.mark.parametrize(
    ("records", "changes", "message", "colour"),
    [
        (synthetic.passing(30), {}, "passes, quick", "green"),
        (synthetic.passing(30), {"tier": "thorough"}, "passes, thorough", "green"),
        (synthetic.passing(30), {"selection": ["memory"]}, "partial, quick", "yellow"),
        (synthetic.passing(30), SIMULATED, "passes, quick, simulated", "yellow"),
        (synthetic.passing(30), {**SIMULATED, "shard": "1/2"}, "partial, quick, simulated",
         "yellow"),
        (synthetic.failing(30), {}, "fails, quick", "red"),
        (synthetic.failing(30), {"shard": "1/2"}, "fails, quick, partial", "red"),
        ([synthetic.case(0, "xfail")], {}, "passes, quick, with waivers", "yellow"),
        ([synthetic.case(0, "suite-error")], {}, "no verdict", "grey"),
        ([], SIMULATED, "no verdict, simulated", "grey"),
    ],
)  # fmt: skip
def test_what_a_badge_says(
    records: list[synthetic.Record], changes: dict[str, Any], message: str, colour: str
) -> None:
    badge = _badge(records, **changes)
    assert (badge.message, badge.colour) == (message, colour)
    assert "conform" not in message
    told = json.loads(badge.json())
    assert (told["schemaVersion"], told["label"], told["message"]) == (1, "tbk", message)
    assert told["color"] == colour
    picture = ET.fromstring(badge.svg())  # noqa: S314 - our own
    assert picture.get("aria-label") == f"tbk: {message}"
    assert [one.text for one in picture.iter() if one.tag.endswith("text")] == ["tbk", message]


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("name", COLOURS)
def test_white_can_be_read_on_each_colour(name: str) -> None:
    assert 1.05 / (_luminance(COLOURS[name]) + 0.05) >= 4.5
