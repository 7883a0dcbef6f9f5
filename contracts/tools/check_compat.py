#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fail where the header has left a version that is frozen, each declaration in one line.

contracts/compat/VERSION holds the header as it was, and frozen.yml the decisions that wrote it.
What may change since: comments, new declarations, optional tables and functions, members behind the
last of a struct that says its size, dtypes, operators. --digest VERSION prints what frozen.yml must
say.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

TOOLS = Path(__file__).resolve().parent
sys.path[:0] = [str(TOOLS), str(TOOLS.parent / "python")]

from declarations import DeclarationError, Declarations, Member, load  # noqa: E402
from overloads import load_list  # noqa: E402
from tbk_contracts import Interface, load_interface  # noqa: E402

COMPAT = Path("contracts") / "compat"
LEDGER = "frozen.yml"
OVERLOADS = "overloads.txt"
SIZE = "struct_size"
# What grows: nobody hands over a dtype that the other side has not declared, or an operator that it
# has not found. Of all other enums and maps (status, flags, modes, opcodes) it must know all.
GROWING_ENUM = "TBK_DTYPE_LIMIT"
GROWING_MAPS = ("TBK_DTYPE_MAP", "TBK_OPERATOR_MAP")
THAW = "thawing takes an ADR: docs/interface-versions.md"


# ------------------------------------------------------------------------------------ structs --


def _left(struct: str, frozen: Member, place: int, live: tuple[Member, ...]) -> str | None:
    """Returns what has become of one member, None where it is what it was."""
    there = live[place] if place < len(live) else None
    names = [one.name for one in live]
    if there == frozen:
        return None
    if frozen.name not in names:
        return f"{struct}.{frozen.name} is gone"
    if there is None or there.name != frozen.name:
        found = names.index(frozen.name)
        return f"{struct}.{frozen.name} has moved from place {place} to {found}"
    return f"{struct}.{frozen.name} is `{there.type}`, and was `{frozen.type}`"


def _appended(struct: str, frozen: Declarations, live: Declarations) -> Iterator[str]:
    """Members that are new, where they may not be."""
    old, new = frozen.structs[struct], live.structs[struct]
    for one in new[len(old) :]:
        if old[0].name != SIZE:
            yield f"{struct}.{one.name} is new, in a struct that does not say its size"
        elif live.numbers[f"{struct}.{one.name}"] < frozen.numbers[struct]:
            yield f"{struct}.{one.name} is new, and lies within what was there before"


def struct_faults(frozen: Declarations, live: Declarations) -> Iterator[str]:
    """Structs whose members are not those that they were, in name, order, type and place."""
    for struct, old in frozen.structs.items():
        if struct not in live.structs:
            yield f"struct {struct} is gone"
            continue
        lefts = (_left(struct, one, at, live.structs[struct]) for at, one in enumerate(old))
        if fault := next(filter(None, lefts), None):
            yield fault
            continue
        for one in old:
            name = f"{struct}.{one.name}"
            if live.numbers[name] != frozen.numbers[name]:
                yield f"{name} lies at byte {live.numbers[name]}, and was at {frozen.numbers[name]}"
                break
        else:
            yield from _appended(struct, frozen, live)


# ---------------------------------------------------------------------------------- all others --


def enum_faults(frozen: Declarations, live: Declarations) -> Iterator[str]:
    """Enumerators that are gone, have other values, or are new among those that were there."""
    for names in frozen.enums:
        for name in names:
            old, new = frozen.numbers[name], live.numbers.get(name)
            if new is None:
                yield f"{name} is gone"
            elif new != old:
                yield f"{name} is {new}, and was {old}"
        now = next((one for one in live.enums if names[0] in one), ())
        if GROWING_ENUM not in names:
            yield from (f"{name} is new beside {names[0]}" for name in now if name not in names)


def text_faults(frozen: Declarations, live: Declarations) -> Iterator[str]:
    """Typedefs, functions and macros that say something else."""
    parts = (
        (frozen.types, live.types),
        (frozen.functions, live.functions),
        (frozen.macros, live.macros),
    )
    for old, new in parts:
        for name, text in old.items():
            if name not in new:
                yield f"{name} is gone"
            elif new[name] != text:
                yield f"{name} is `{new[name]}`, and was `{text}`"


def map_faults(frozen: Declarations, live: Declarations) -> Iterator[str]:
    """X macros that lack a row that was there, or have one that may not be added."""
    for name, rows in frozen.maps.items():
        there = live.maps.get(name, ())
        for row in rows:
            if row not in there:
                yield f"{name} has no longer the row `{row}`"
                break
        else:
            new = [row for row in there if row not in rows]
            if new and name not in GROWING_MAPS:
                yield f"{name} has the new row `{new[0]}`"


def sentence_faults(frozen: Interface, live: Interface) -> Iterator[str]:
    """Clauses that the header states in other words, or not at all; each of them once."""
    now = {one.name: one for one in live.functions}
    told = set[str]()
    for function in frozen.functions:
        if function.name not in now:
            continue  # a member that is gone
        lines = {line.clause: line.text for line in now[function.name].lines if line.clause}
        for line in function.lines:
            if not line.clause or line.clause in told or lines.get(line.clause) == line.text:
                continue
            told.add(line.clause)
            said = f'says "{lines[line.clause]}"' if line.clause in lines else "is not stated"
            yield f'{function.name}: {line.clause} {said}, and was "{line.text}"'


def entry_faults(frozen: Interface, live: Interface) -> Iterator[str]:
    """Functions that may be NULL and could not be, or the reverse; new ones that may not be."""
    before = {one.name: one for one in frozen.functions}
    structs = {one.struct for one in frozen.functions}
    for function in live.functions:
        old = before.get(function.name)
        if old and old.optional != function.optional:
            says = "may be NULL, and had" if function.optional else "must be there, and had not"
            yield f"{function.name} {says} to be there"
        elif not old and function.struct in structs and not function.optional:
            yield f"{function.struct}.{function.name} is new and may not be NULL"


def compare(frozen: Path, live: Path) -> Iterator[str]:
    """Yields a line for each declaration of the headers below `frozen` (a folder that has include/)
    from which those below `live` differ, beyond what may change."""
    names = [f"tbk/{path.name}" for path in sorted((frozen / "include" / "tbk").glob("*.h"))]
    gone = [name for name in names if not (live / "include" / name).is_file()]
    if gone:
        yield from (f"<{name}> is gone" for name in gone)
        return
    old, new = load(frozen / "include", names), load(live / "include", names)
    for check in (struct_faults, enum_faults, text_faults, map_faults):
        yield from check(old, new)
    for of in (entry_faults, sentence_faults):
        yield from of(load_interface(frozen), load_interface(live))


def overload_faults(frozen: Path, live: Path) -> Iterator[str]:
    """Argument structs of overloads that are others under the same version."""
    now = load_list(live)
    for name, old in load_list(frozen).items():
        new = now.get(name)
        if new and new.version == old.version and new.schema != old.schema:
            yield f"{name} has other arguments and still version {old.version}: {new.schema}"


# -------------------------------------------------------------------------------------- ledger --


def digest(folder: Path) -> str:
    """Returns one number for all that a frozen folder holds, but the ledger itself."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != LEDGER:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            whole.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return whole.hexdigest()


def ledger_faults(root: Path, folder: Path) -> Iterator[str]:
    """A frozen folder that no decision of its ledger has written."""
    entries = yaml.safe_load((folder / LEDGER).read_text())
    for entry in entries:
        found = list((root / "docs" / "adr").glob(f"{entry['adr']:04}-*.md"))
        if not found or folder.name not in found[0].read_text():
            yield f"{folder.name}/{LEDGER}: no ADR {entry['adr']} speaks of {folder.name}"
    decisions = [entry["adr"] for entry in entries]
    if decisions != sorted(set(decisions)):
        yield f"{folder.name}/{LEDGER}: each decision stands once, the newest last"
    if entries[-1]["digest"] != digest(folder):
        yield f"{COMPAT / folder.name} is not what ADR {entries[-1]['adr']} froze"


def find_faults(root: Path, folder: Path) -> Iterator[str]:
    """Yields a line for all that is wrong with one frozen version."""
    yield from ledger_faults(root, folder)
    contracts = root / "contracts"
    yield from compare(folder, contracts)
    yield from overload_faults(folder / OVERLOADS, contracts / "spec" / "operators" / OVERLOADS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=TOOLS.parent.parent, help="the checkout")
    parser.add_argument("--digest", metavar="VERSION", help="print the digest of a folder")
    options = parser.parse_args()
    compat = options.root / COMPAT
    try:
        if options.digest:
            print(digest(compat / options.digest))
            return 0
        folders = sorted(path.parent for path in compat.glob(f"*/{LEDGER}"))
        faults = [
            f"{one.name}: {fault}; {THAW}"
            for one in folders
            for fault in find_faults(options.root, one)
        ]
    except (DeclarationError, OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        print(f"check_compat: {error}", file=sys.stderr)
        return 2
    for fault in faults:
        print(fault)
    versions = " ".join(one.name for one in folders)
    print(f"check_compat: {versions or 'nothing'} frozen; {len(faults) or 'no'} departures")
    return 1 if faults or not folders else 0


if __name__ == "__main__":
    sys.exit(main())
