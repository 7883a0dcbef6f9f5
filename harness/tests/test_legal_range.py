# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""No device that the header allows fails anything, alone in its oddity or in pairs of them.

Here a part of the vectors, the same in each run; `ci/nightly` runs legal_range.py, which takes all.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from legal_range import (
    DIMENSIONS,
    NOT_VARIED,
    Vector,
    all_pairs,
    covered,
    judge,
    legal,
    of_vector,
    plain,
    singles,
    spoken,
    vectors,
)
from runs import ROOT

INCLUDE = ROOT / "contracts" / "include" / "tbk"
DRAWN = vectors()
EVERY = 48
AN_ORDER = "copy_order/a_copy_waits_for_earlier_work_of_its_stream"


def test_each_property_of_a_device_is_varied() -> None:
    header = (INCLUDE / "device.h").read_text()
    body = header.split("typedef struct tbk_device_properties {")[1].split("}")[0]
    members = set(re.findall(r"(\w+);", re.sub(r"/\*.*?\*/", "", body)))
    varied = {name for dimension in DIMENSIONS for name in dimension.properties}
    assert members == varied | NOT_VARIED


def test_each_optional_table_and_function_is_left_out() -> None:
    tables = (INCLUDE / "tables.h").read_text()
    names = set(re.findall(r"X\((\w+), \w+, \"", tables))
    inside = False
    for line in tables.splitlines():
        inside = line.startswith("#define TBK_OPTIONAL_") or (inside and line.startswith("  X("))
        names |= set(re.findall(r"X\(\w+, \w+, (\w+)\)", line)) if inside else set()
    without = next(dimension for dimension in DIMENSIONS if dimension.option == "without")
    left_out = {word for value in without.values for word in value.split("+") if word}
    assert left_out == names - {"prepare", "launch_plan", "plan_destroy"}


def test_each_pair_of_values_meets() -> None:
    met = {pair for vector in DRAWN for pair in covered(vector)}
    assert all_pairs() <= met
    assert all(legal(vector) for vector in DRAWN)


@pytest.mark.parametrize("vector", [plain(), *DRAWN[::EVERY]], ids=spoken)
def test_a_legal_device_fails_nothing(vector: Vector, tmp_path: Path) -> None:
    assert judge(of_vector(vector), tmp_path) == []


@pytest.mark.parametrize(
    "vector", [one for one in singles() if one["without"] != "stream"], ids=spoken
)
def test_an_order_is_shown_on_a_device_of_one_oddity(vector: Vector, tmp_path: Path) -> None:
    """It is the gate that each oddity may mislead: then no order is shown, and no test fails."""
    assert judge(of_vector(vector), tmp_path, "--only", AN_ORDER) == []
