# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A farm whose head may ask for a token of Ray's."""

from __future__ import annotations

import pytest
from tbk_harness.farm.driver import token_words

MODE = "RAY_AUTH_MODE"


def test_a_farm_that_does_not_answer_may_want_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MODE, raising=False)
    assert f"{MODE}=token" in token_words()


@pytest.mark.parametrize("decided", ["token", "disabled"])
def test_nothing_is_said_to_who_has_decided(decided: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MODE, decided)
    assert token_words() == ""
