# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The contract tests as pytest has collected them, in the words of the supervisor."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tbk_contracts
import torch
from tbk_contracts.torch import capability
from tbk_contracts.torch.plugin import describe

from tbk_harness.torch_worker.request import Request

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SUITE, USAGE = 6, 2  # exit codes of tbk-run
WORKER = Path(__file__).resolve().parent


class ListingError(Exception):
    """The tests can't be run, in one line; and the exit code."""

    def __init__(self, reason: str, code: int = SUITE) -> None:
        super().__init__(reason)
        self.code = code


def tests(items: Sequence[pytest.Item]) -> list[dict[str, Any]]:
    """Returns one object for each item, in its order."""
    listed = [_test(item) for item in items]
    seen: set[str] = set()
    for one in listed:
        if one["id"] in seen:
            raise ListingError(f"two tests are called {one['id']}")
        seen.add(one["id"])
    cited = {(item.path, one["clause"]) for item, one in zip(items, listed, strict=True)}
    for path, clause in sorted(cited):
        _check_name(path, clause)
    return listed


def _check_name(path: Path, clause: str) -> None:
    """Raises unless the file names the clause: by that, `Request` finds the files of a clause."""
    if not re.search(rf"\b{re.escape(clause)}\b", _text(path)):
        raise ListingError(f"{path.name} does not name {clause}, which a test in it cites")


@cache
def _text(path: Path) -> str:
    return path.read_text("utf-8")


def _test(item: pytest.Item) -> dict[str, Any]:
    case = describe(item)
    if case is None:
        raise ListingError(f"{item.nodeid} cites no clause")
    for word in case.needs:
        if word.removeprefix("!") not in capability.WORDS:
            raise ListingError(f"{case.id} needs '{word}', which is no capability")
    clause = tbk_contracts.clause(case.clause)
    return {
        "said": "test",
        "id": case.id,
        "suite": case.suite,
        "clause": case.clause,
        "needs": " ".join(case.needs),
        "level": clause.level if clause else "must",
        "area": clause.area if clause else case.suite,
        "profile": clause.profile if clause else "core",
        "text": clause.text if clause else "",
        "fresh": case.fresh,
        "alone": case.alone,
        "slow": case.slow,
        "cost": case.cost,
        "thorough": case.thorough,
    }


def suite(request: Request, folder: Path) -> dict[str, Any]:
    """Returns what stands behind all of them."""
    among = tbk_contracts.at_layer("torch", tbk_contracts.clauses())
    sentences = "".join(f"{one.id} {one.text}\n" for one in among)
    package = Path(capability.__file__).resolve().parent
    return {
        "said": "suite",
        "digest": _digest([package, WORKER, folder]),
        "spec": hashlib.sha256(sentences.encode()).hexdigest(),
        "clauses": len(among),
        "torch": torch.__version__,
        "words": list(capability.WORDS),
        "declared": declared(request.facts) if request.facts else None,
    }


def _digest(folders: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for folder in dict.fromkeys(folders):
        for path in sorted((*folder.rglob("*.py"), *folder.rglob("*.yml"))):
            digest.update(f"{path.relative_to(folder)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def declared(path: Path) -> dict[str, bool]:
    """Returns the capabilities in a file that a vendor has committed."""
    try:
        text = path.read_text("utf-8")
        found = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise ListingError(f"{path}: {' '.join(str(error).split())}", USAGE) from error
    words = found.get("capabilities") if isinstance(found, dict) else None
    if not isinstance(words, dict):
        raise ListingError(f"{path}: it has no table 'capabilities'", USAGE)
    for word, held in words.items():
        if word not in capability.WORDS:
            raise ListingError(f"{path}: {word!r} is no capability", USAGE)
        if not isinstance(held, bool):
            raise ListingError(f"{path}: {word!r} is neither true nor false", USAGE)
    return words
