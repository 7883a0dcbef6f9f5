# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""All that the checker compares, read once: header, spec, lock, tests, mutants and sizes."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from spec_torch import TorchWorld, load_torch
from tbk_contracts import (
    Block,
    Clause,
    Interface,
    Row,
    load_areas,
    load_clauses,
    load_header,
    load_interface,
    load_rows,
)
from tbk_contracts.header import INCLUDE, header_files
from tbk_contracts.pairs import Pairs, load_pairs

LOCK = Path("spec") / "ids.lock.yml"
WORDS = re.compile(r"#define TBK_NEED_\w+\(X\)((?:.*\\\n)*.*)")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@dataclass(frozen=True)
class Mutant:
    """A way in which one clause is broken on purpose."""

    name: str
    clause: str
    narrow: bool


@dataclass
class Lock:
    """Digests of sentences by id: those in force, and those of ids that are never used again."""

    current: dict[str, str] = field(default_factory=dict)
    retired: dict[str, str] = field(default_factory=dict)


@dataclass
class World:
    """What there is under a checkout. `mutants` is None where they are left out on request."""

    root: Path
    headers: dict[str, str]  # the text of tbk.h and its parts, by name
    blocks: list[Block]
    interface: Interface
    areas: dict[str, str]
    clauses: list[Clause]
    lock: Lock
    rows: list[Row]
    test_texts: dict[str, str]
    needs_words: set[str]
    suites: set[str] | None
    operators: set[str]
    mutants: list[Mutant] | None
    pairs: Pairs
    pair_mutants: set[str] | None  # those of pairs, by name
    backend_names: set[str]
    torch: TorchWorld
    called: set[tuple[str, str]] | None = None  # clauses and functions, as tests called them

    @property
    def contracts(self) -> Path:
        """Returns the room that everything but the mutants lies in."""
        return self.root / "contracts"

    def by_id(self) -> dict[str, Clause]:
        """Returns the clauses by id; of two with the same id the first."""
        found: dict[str, Clause] = {}
        for clause in self.clauses:
            found.setdefault(clause.id, clause)
        return found

    def c_clauses(self) -> list[Clause]:
        """Returns those that the C tests can see."""
        return [clause for clause in self.clauses if "c" in clause.layer]


def load_lock(path: Path) -> Lock:
    """Returns the lock file; an empty one where there is none."""
    data = yaml.safe_load(path.read_text()) if path.exists() else {}
    return Lock(dict(data.get("current") or {}), dict(data.get("retired") or {}))


def load_mutants(path: Path) -> list[Mutant]:
    """Returns the output of tbk-mutants: one JSON object on each line. Anti-mutants break no
    clause."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            entry = json.loads(line)
            if entry["kind"] == "mutant":
                found.append(Mutant(entry["name"], entry["clause"], bool(entry["narrow"])))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}:{number}: not a mutant: {error}") from error
    return found


def load_pair_mutants(path: Path) -> set[str]:
    """Returns the names of those that are made from pairs, of the same file."""
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    return {entry["name"] for entry in entries if entry["kind"] == "pair"}


def read_operators(path: Path) -> set[str]:
    """Returns the names of the operators that have argument structs."""
    if not path.exists():
        return set()
    entries = yaml.safe_load(path.read_text())["operators"]
    return {str(entry["schema"]).partition("(")[0] for entry in entries}


def read_generic(folder: Path) -> set[str]:
    """Returns the names of the generic kernels."""
    text = "".join(header.read_text() for header in sorted(folder.glob("tbk_*.h")))
    return set(re.findall(r'#define TBK_NAME_\w+ "(tbk::\w+)"', text))


def read_needs_words(toolkit: Path) -> set[str]:
    """Returns the words of needs.h: those that do not follow from the header."""
    listed = WORDS.findall((toolkit / "run" / "needs.h").read_text())
    return {name for words in listed for name in re.findall(r"\bX\((\w+)\)", words)}


def read_suites(tests: Path) -> set[str] | None:
    """Returns the suites that suites.c runs. None without the file."""
    path = tests / "suites.c"
    if not path.exists():
        return None
    listed = re.search(r"#define SUITES\(X\)((?:.*\\\n)*.*)", path.read_text())
    return set(re.findall(r"\bX\((\w+)\)", listed[1])) if listed else set()


def read_backend_names(backends: Path) -> set[str]:
    """Returns what backends are called: the folders of this project, and some of the world's."""
    known = {"ascend", "cuda", "hip", "mps", "npu", "openreg", "rocm", "xpu"}
    rooms = (
        {path.name for path in backends.glob("*") if path.is_dir()} if backends.exists() else set()
    )
    return known | (rooms - {"mutants"})


def sources(folders: list[Path]) -> list[Path]:
    """Returns the C files below the folders, but those that are generated and the toolkit's own
    tests."""
    found = [path for folder in folders for path in folder.rglob("*.[ch]")]
    return sorted(path for path in found if path.parent.name not in {"generated", "self"})


def load_world(root: Path, mutants: Path | None) -> World:
    """Reads everything under `root`, and the mutants from the file given."""
    contracts = root / "contracts"
    interface = load_interface(contracts)
    tests = contracts / "tests"
    return World(
        root=root,
        headers={
            path.relative_to(contracts / INCLUDE).as_posix(): path.read_text()
            for path in header_files(contracts)
        },
        blocks=load_header(contracts),
        interface=interface,
        areas=load_areas(contracts),
        clauses=load_clauses(contracts),
        lock=load_lock(contracts / LOCK),
        rows=load_rows(contracts),
        test_texts={
            path.relative_to(root).as_posix(): COMMENT.sub(" ", path.read_text())
            for path in sources([tests, contracts / "toolkit"])
        },
        needs_words={*interface.words, *read_needs_words(contracts / "toolkit")},
        suites=read_suites(tests),
        operators=read_operators(contracts / "spec" / "operators.yml")
        | read_generic(contracts / INCLUDE / "tbk"),
        mutants=load_mutants(mutants) if mutants else None,
        pairs=load_pairs(contracts),
        pair_mutants=load_pair_mutants(mutants) if mutants else None,
        backend_names=read_backend_names(root / "reference_backends"),
        torch=load_torch(root),
    )
