# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Compiled templates are kept where Python keeps modules, and nothing depends on them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import jinja2
import pytest
from tbk_reports.template_cache import template_cache

TEXT = "{% for one in all %}<{{ one }}>{% endfor %}"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the folder in which Python keeps what it compiles."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    return tmp_path


def environment(text: str = TEXT, **options: Any) -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.DictLoader({"page": text}), autoescape=True, optimized=False, **options
    )
    made.bytecode_cache = template_cache(made)
    return made


def rendered(made: jinja2.Environment) -> str:
    return made.get_template("page").render(all=["a", "&"])


def files(kept: Path) -> list[Path]:
    return sorted(kept.rglob("*.jinja"))


def test_a_template_is_compiled_once(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = rendered(environment())
    assert len(files(kept)) == 1
    monkeypatch.delattr(jinja2.Environment, "_generate")  # it would have to compile
    assert rendered(environment()) == first == "<a><&amp;>"


def test_what_changed_is_compiled_again(kept: Path) -> None:
    rendered(environment())
    assert rendered(environment("{{ all[0] }}")) == "a"
    rendered(environment(trim_blocks=True))
    assert len(files(kept)) == 2


def test_a_file_of_something_else_is_compiled_again(kept: Path) -> None:
    rendered(environment())
    files(kept)[0].write_bytes(b"\0" * 100)
    assert rendered(environment()) == "<a><&amp;>"


def test_where_nothing_can_be_written_nothing_is_kept(kept: Path) -> None:
    made = environment()
    shutil.rmtree(kept)
    assert rendered(made) == "<a><&amp;>"


def test_where_python_keeps_nothing_nothing_is_kept(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert environment().bytecode_cache is None
    assert not files(kept)
