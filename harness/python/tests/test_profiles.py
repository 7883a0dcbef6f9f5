# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import json

from click.testing import CliRunner
from tbk_contracts import clauses
from tbk_contracts.profiles import faults, profiles
from tbk_harness.commands import tbk

ENTRY = {"name": "one", "text": "a text", "areas": ["memory"], "operators": ["add"],
         "dtypes": ["float32"]}  # fmt: skip


def test_each_profile_has_all_of_the_one_before_it() -> None:
    names = [one.name for one in profiles()]
    assert names == ["bring-up", "inference", "training", "full"]
    for less, more in zip(profiles(), profiles()[1:], strict=False):
        assert set(less.clauses) < set(more.clauses)
    assert set(profiles()[-1].clauses) == {one.id for one in clauses() if one.checked_must}


def test_faults_of_the_data_are_told() -> None:
    assert list(faults([ENTRY], clauses())) == []
    assert list(faults([ENTRY, ENTRY], clauses())) == ["profiles.yml: one is there twice"]
    wrong: list[dict[str, object]] = [
        {"areas": ["nosuch"]}, {"areas": []}, {"dtypes": ["float31"]}, {"more": 1},
        {"extends": "two"},
    ]  # fmt: skip
    for change in wrong:
        assert list(faults([{**ENTRY, **change}], clauses())), change


def test_a_mistyped_profile_is_one_line_with_what_was_meant() -> None:
    ended = CliRunner().invoke(tbk, ["run", "x.so", "--profile", "traning"])
    assert ended.exit_code == 2
    assert "'traning' is no profile; did you mean training?" in ended.output


def test_profiles_are_listed_and_shown() -> None:
    listed = CliRunner().invoke(tbk, ["profiles", "--json"])
    assert [one["name"] for one in json.loads(listed.output)] == [one.name for one in profiles()]
    shown = CliRunner().invoke(tbk, ["show", "inference"])
    assert shown.exit_code == 0
    assert "nn_functional_linear" in shown.output
