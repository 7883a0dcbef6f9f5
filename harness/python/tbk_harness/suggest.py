# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a mistyped word was probably meant to be."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

import tbk_contracts
from tbk_contracts.torch_rows import torch_tests

from tbk_harness.near import hint
from tbk_harness.selectors import TORCH_SUITES


def clause_words() -> set[str]:
    """Returns what --only takes besides the ids of tests."""
    found: set[str] = set()
    for one in tbk_contracts.clauses():
        found |= {
            one.id,
            one.area,
            one.profile,
            *(row.id for row in tbk_contracts.tests_of(one.id)),
        }
    return found


@cache
def torch_ids(area: str = "torch_*") -> frozenset[str]:
    """Returns the tests of the torch layer or of an area of it, without their parameters."""
    folder = Path(tbk_contracts.__file__).resolve().parent / "torch"
    return frozenset(
        f"torch_{Path(one.file).stem.removeprefix('test_')}/{one.name.removeprefix('test_')}"
        for one in torch_tests(folder, folder, f"test_{area.removeprefix('torch_')}.py")
    )


MADE = "/test"  # what the sources call a function of which an area makes its tests when imported


def selectors() -> set[str]:
    """Whole words of --only, besides prefixes of clauses and the tests of `_areas_made`."""
    ids = {one for one in clause_words() | torch_ids() if not one.endswith(MADE)}
    return _with_areas(ids) | _areas_made(torch_ids())


def _with_areas(words: set[str]) -> set[str]:
    return words | {one.partition("/")[0] for one in words if "/" in one}


def _areas_made(ids: Collection[str]) -> set[str]:
    """Returns the areas whose tests PyTorch alone knows: one for each of its operators."""
    return {one.removesuffix(MADE) for one in ids if one.endswith(MADE)}


def unknown_selector(only: Collection[str]) -> str:
    """Returns why a word of --only selects nothing in any layer, with what may have been meant;
    empty where each may select something. What stands in brackets behind a test of the torch layer
    is for tbk-run to look at: PyTorch has to be imported to know its parameters."""
    few = _with_areas(clause_words()) if only else set()
    for word in only:
        if not _selects(word, few) and not _is_of_torch(word):
            meant = hint(word.removeprefix("profile:").partition("[")[0], selectors())
            return f"--only: {word!r} is no clause, area, profile or test{meant}"
    return ""


def _is_of_torch(word: str) -> bool:
    """Tells whether a word names an area or a test of the torch layer, whose tests are read from
    their sources: of all areas that takes a second, so only the one that is named is read."""
    area = word.partition("/")[0]
    known = torch_ids(area) if area.isidentifier() else frozenset[str]()
    return _selects(word, _with_areas(set(known)), _areas_made(known))


def _selects(word: str, known: Collection[str], made: Collection[str] = ()) -> bool:
    """Returns whether a word may select something, by the rule of tbk-run: a test by its id, those
    of the torch layer with one set of parameters, too; else a word of a clause, or the beginning of
    its id."""
    if "/" in word:
        has_parameters = word.startswith(TORCH_SUITES) and word.endswith("]")
        one = word.partition("[")[0] if has_parameters else word
        return one in known or one.partition("/")[0] in made
    plain = word.removeprefix("profile:")
    is_prefix = 3 <= len(plain) < 7 and any(one.startswith(plain) for one in known if "-" in one)
    return plain in known or is_prefix


def selector_hint(said: str) -> str:
    """Returns what was meant by the word that tbk-run says "names no test"."""
    word = unmatched(said)
    return hint(word.partition("[")[0], selectors()) if word else ""


def unmatched(said: str) -> str:
    """Returns the word that tbk-run says "names no test"; empty where it says that of none."""
    return _quoted(said, "' names no test")


def capability_hint(said: str) -> str:
    """Returns what was meant by the word that tbk-run says "is no capability"."""
    word = _quoted(said, "' is no capability")
    return hint(word, capability_words()) if word else ""


def _quoted(said: str, end: str) -> str:
    """Returns the word before `end`, which begins with its closing quote; empty where it is not."""
    before, found, _ = said.partition(end)
    return before.rpartition("'")[2] if found else ""


def capability_words() -> set[str]:
    """Returns those that rows of tests need, in C, and the tables of the ABI."""
    rows = [row for one in tbk_contracts.clauses() for row in tbk_contracts.tests_of(one.id)]
    needed = {word.removeprefix("!") for row in rows for word in (row.needs or "").split()}
    return needed | set(tbk_contracts.interface().words)


def unknown_capability(require: Iterable[str], known: Iterable[str]) -> str:
    """Returns why a word of --require is no capability; empty where all are."""
    words = set(known)
    for word in require:
        if word not in words:
            return f"--require: {word!r} is no capability{hint(word, words)}"
    return ""
