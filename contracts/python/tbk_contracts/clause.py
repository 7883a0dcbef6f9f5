# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The clauses as data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from tbk_contracts.header import HeaderLine, load_header
from tbk_contracts.places import contracts_root

PROGRAM = "program"
"""What `of` says for a clause that no single function keeps."""

NOT_CLAUSES = {"areas.yml", "operators.yml", "pairs.yml", "profiles.yml", "ids.lock.yml"}

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # a PyYAML without libyaml
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]


class SpecError(ValueError):
    """A clause file that cannot be read, in one line that names the file."""


@dataclass(frozen=True)
class Clause:
    """One normative sentence and what is known about it."""

    id: str
    of: tuple[str, ...]
    line: str | None
    text: str
    level: str
    kind: str
    reason: str | None
    layer: tuple[str, ...]
    profile: str
    needs: str | None
    source: tuple[str, ...]
    note: str | None
    builds_on: tuple[str, ...]  # beside what follows from the header (builds.py)
    area: str
    file: str

    @property
    def prefix(self) -> str:
        """Returns the area's three letters, "MEM" of MEM-001."""
        return self.id.partition("-")[0]

    @property
    def number(self) -> int:
        """Returns the number within the prefix."""
        return int(self.id.partition("-")[2])

    @property
    def functions(self) -> tuple[str, ...]:
        """Returns the functions of the header that state it; none for a clause of the whole
        program."""
        return tuple(name for name in self.of if name != PROGRAM)

    @property
    def checked_must(self) -> bool:
        """Returns whether a backend that breaks it must be found out."""
        return self.level == "must" and self.kind == "checked"


def _strings(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else (str(value),)


def _optional(entry: dict[str, object], key: str) -> str | None:
    value = entry.get(key)
    return None if value is None else " ".join(str(value).split())


def _clause(
    entry: dict[str, object], area: str, file: str, stated: dict[str, list[HeaderLine]]
) -> Clause:
    """Returns an entry as a clause; one that the header states has its sentence from there."""
    lines = stated.get(str(entry["id"]), [])
    return Clause(
        id=str(entry["id"]),
        of=tuple(line.function for line in lines) or _strings(entry["of"]),
        line=lines[0].label if lines else None,
        text=lines[0].text if lines else " ".join(str(entry["text"]).split()),
        level=str(entry["level"]),
        kind=str(entry["kind"]),
        reason=_optional(entry, "reason"),
        layer=_strings(entry["layer"]),
        profile=str(entry["profile"]),
        needs=_optional(entry, "needs"),
        source=_strings(entry["source"]),
        note=_optional(entry, "note"),
        builds_on=_strings(entry.get("builds_on", [])),
        area=area,
        file=file,
    )


def clause_files(root: Path) -> list[Path]:
    """Returns the clause files under contracts/, those of the C layer first."""
    spec = root / "spec"
    plain = [path for path in spec.glob("*.yml") if path.name not in NOT_CLAUSES]
    return sorted(plain) + sorted((spec / "torch").glob("*.yml"))


def load_entries(path: Path) -> list[dict[str, object]]:
    """Returns the raw entries of one clause file."""
    try:
        entries = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SpecError(f"{path}: {' '.join(str(error).split())}") from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SpecError(f"{path}: not a list of clauses")
    return entries


def load_areas(root: Path) -> dict[str, str]:
    """Returns the areas of the C layer under `root` (contracts/) by the letters of their ids, in
    order."""
    return {
        str(prefix): str(name)
        for prefix, name in yaml.safe_load((root / "spec" / "areas.yml").read_text()).items()
    }


def load_clauses(root: Path) -> list[Clause]:
    """Returns all clauses under `root` (contracts/), in the order of files and entries."""
    stated: dict[str, list[HeaderLine]] = {}
    for line in (line for block in load_header(root) for line in block.lines):
        if line.clause:
            stated.setdefault(line.clause, []).append(line)
    found = []
    for path in clause_files(root):
        name = path.relative_to(root).as_posix()
        for entry in load_entries(path):
            try:
                found.append(_clause(entry, path.stem, name, stated))
            except (KeyError, TypeError, ValueError) as error:
                which = f"{name}: {entry.get('id', 'a clause')}"
                raise SpecError(
                    f"{which} lacks {error}, and the header does not state it"
                ) from error
    return found


@cache
def clauses() -> tuple[Clause, ...]:
    """Returns all clauses of the contract that this package belongs to."""
    return tuple(load_clauses(contracts_root()))


@cache
def _by_id() -> dict[str, Clause]:
    return {clause.id: clause for clause in clauses()}


def clause(clause_id: str) -> Clause | None:
    """Returns the clause with this id, or None."""
    return _by_id().get(clause_id)


def at_layer(layer: str, among: Iterable[Clause]) -> list[Clause]:
    """Returns those that can be seen at `layer` ("c" or "torch"), by id."""
    return sorted((one for one in among if layer in one.layer), key=lambda one: one.id)


def spec_digest(among: Iterable[Clause]) -> str:
    """SHA-256 over ids and sentences of the C layer: equal digests, equal wording."""
    lines = "".join(f"{one.id} {one.text}\n" for one in at_layer("c", among))
    return hashlib.sha256(lines.encode()).hexdigest()


def text_digest(text: str) -> str:
    """Returns a short digest of one sentence, for the lock file."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
