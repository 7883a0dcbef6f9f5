# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A failed test of the torch layer as one file of Python that needs nothing of this suite."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import tbk_contracts
from tbk_reports import recorded
from tbk_reports.extent import simulated
from tbk_reports.model import Judged, Test
from tbk_reports.text import line
from tbk_reports.view import View
from tbk_reports.words import FOREIGN_BLAME, seen_words

from tbk_harness.excerpt import PACKAGE, Excerpt, ExcerptError

FOLDER = "reproducers"
MOST = 60  # files
PER_CAUSE = 2
_PLAIN = re.compile(r"[^A-Za-z0-9_.-]+")
_RUNS = (
    ("check", ("begin", "totals")),
    ("missing", ("of", "excused")),
    ("run_seed", ("choose", "begin")),
)  # what runs a test, beside what the test itself reaches
# A simulated run is had again only with the seed that it had, or with none.
_UNSTEERED = """\
for name in [one for one in os.environ if one.startswith("TBK_") and one.endswith("_SIMULATOR")]:
    del os.environ[name]"""
_HEAD = """\
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
# {id}, alone
#
# {clause}
# expected: {expected}
# seen:     {seen}
#
#     python {name}                 on the device of the run
#     python {name} --device cpu    the same on PyTorch's own CPU
#
# It needs PyTorch, pytest and what brings the device, and nothing of tbk's test suite. It ends
# with 0 where the test passes and with 1 where it fails, or it crashes or hangs as the test did.
import faulthandler
import importlib.abc
import importlib.util
import linecache
import os
import sys

os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
import pytest
import torch

ID = {id!r}
NODE = {node!r}
SEED = {seed!r}
DEVICE = {device!r}  # empty: the one that the library below registers
START = {start!r}
TEST_NAME = {test_name!r}
TEST = {test}"""


def can_be_alone(test: Test) -> bool:
    """Returns whether the test itself failed, not what came before or after it."""
    return (
        test.layer == "torch"
        and test.failed
        and test.recorded in ("fail", "crash", "hang")
        and test.phase == "body"
        and test.blame not in FOREIGN_BLAME
    )


def file_name(test: Test) -> str:
    """A name for the file system, whatever is in the id."""
    return f"{_PLAIN.sub('-', test.id).strip('-')[:120]}.py"


def write(judged: Judged, folder: Path) -> Judged:
    """Writes a file for the first failures of each cause into `folder`/reproducers, and names it in
    the test. Raises OSError."""
    place = folder / FOLDER
    for old in place.glob("*.py") if place.is_dir() else ():
        old.unlink()
    paths: dict[tuple[str, int], str] = {}
    for cause in View(judged).causes:
        for test in [one for one in cause.tests if can_be_alone(one)][:PER_CAUSE]:
            text = alone(test, judged.header) if len(paths) < MOST else ""
            if text:
                place.mkdir(exist_ok=True)
                (place / file_name(test)).write_text(text, "utf-8")
                paths[test.key] = f"{FOLDER}/{file_name(test)}"
    if not paths:
        return judged
    tests = [
        replace(one, facts={**one.facts, "alone": paths[one.key]}) if one.key in paths else one
        for one in judged.tests
    ]
    return replace(judged, tests=tuple(tests))


def alone(test: Test, header: Mapping[str, Any]) -> str:
    """Returns the file; empty where the test cannot be taken out of the suite."""
    suite, _, name = test.id.partition("/")
    module = f"{PACKAGE}.test_{suite.removeprefix('torch_')}"
    function, bracket, parameters = f"test_{name}".partition("[")
    torch = _torch_header(header)
    if torch is None or not suite.startswith("torch_"):
        return ""
    excerpt = Excerpt(Path(tbk_contracts.__file__).resolve().parent / "torch")
    try:
        excerpt.need_test(module, function)
        for source, members in _RUNS:
            for member in members:
                excerpt.need(f"{PACKAGE}.{source}", member)
    except ExcerptError:
        return ""
    start, device = _start(torch, recorded.read(test.replay).variables)
    texts = {one.name: (one.is_package, one.text()) for one in excerpt.modules.values()}
    head = _HEAD.format(
        id=line(test.id, 200), clause=line(f"{test.clause}: {test.clause_text}", 400),
        expected=line(test.expected, 400), seen=line(seen_words(test), 400), name=file_name(test),
        node=function + bracket + parameters, seed=int(torch.get("seed") or 1), device=device,
        start=start, test_name=module, test=_literal(texts.pop(module)[1]),
    )  # fmt: skip
    rows = [f'    "{name}": ({package}, {_literal(text)}),\n' for name, (package, text) in
            sorted(texts.items())]  # fmt: skip
    runner = (resources.files(__package__) / "alone.py.txt").read_text("utf-8")
    return head + runner.replace("@MODULES@", "".join(rows))


def _torch_header(header: Mapping[str, Any]) -> Mapping[str, Any] | None:
    layers = header.get("layers")
    found = layers.get("torch") if isinstance(layers, Mapping) else header
    return found if isinstance(found, Mapping) and isinstance(found.get("torch"), Mapping) else None


def _start(header: Mapping[str, Any], variables: Mapping[str, str]) -> tuple[str, str]:
    """Statements by which PyTorch comes to know the device, and its name."""
    told, backend = header["torch"], header.get("backend")
    command = header.get("command")
    words = [str(word) for word in command] if isinstance(command, list) else []
    lines = [_UNSTEERED] if variables or simulated(header, {}) else []
    lines += [f"os.environ[{name!r}] = {text!r}" for name, text in variables.items()]
    lines += ["import torch"]
    device = str(told.get("device") or "")
    if any(word.startswith("--torch-library") for word in words) and isinstance(backend, Mapping):
        path, options = str(backend.get("path") or ""), backend.get("options")
        lines += ["import torch_tbk", f"torch_tbk.load({path!r}, options={options or None!r})"]
    imports = told.get("imports")
    names = [str(name) for name in imports] if isinstance(imports, list) else []
    lines += [f"import {name}" for name in names if name.replace(".", "").isidentifier()]
    return "\n".join(lines), device


def _literal(text: str) -> str:
    """Returns its text as a literal that can be read."""
    plain = "'''" not in text and "\r" not in text and not text.endswith(("\\", "'"))
    return f"r'''\\\n{text}'''".replace("\\\n", "\n", 1) if plain else repr(text)
