# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A farm whose head has a token of Ray's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tbk_harness.farm.driver import take_token

MODE = "RAY_AUTH_MODE"


@pytest.fixture(autouse=True)
def _undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (MODE, "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.setenv(name, "")  # so that it is as it was afterwards
        monkeypatch.delenv(name)


def test_a_token_is_shown_where_there_is_one(tmp_path: Path) -> None:
    take_token(tmp_path)
    assert MODE not in os.environ
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("secret")
    take_token(tmp_path)
    assert os.environ[MODE] == "token"


def test_one_in_the_environment_is_shown_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    take_token(tmp_path)
    assert os.environ[MODE] == "token"


def test_what_the_user_has_decided_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    monkeypatch.setenv(MODE, "disabled")
    take_token(tmp_path)
    assert os.environ[MODE] == "disabled"
