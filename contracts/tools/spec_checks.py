# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The comparisons of header, spec, tests and mutants. Each yields one line per disagreement."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import spec_builds
import spec_pairs
import spec_torch
from spec_world import COMMENT, World
from tbk_contracts import PROGRAM, Block, Clause, clause_files, load_entries, text_digest
from tbk_contracts.header import LABELS, HeaderLine
from tbk_contracts.profiles import faults as profile_faults
from tbk_contracts.profiles import load_entries as load_profiles
from tbk_contracts.profiles import make as make_profiles

# Ordering, lifetime and memory: one mutant may be caught by luck.
THREE_MUTANTS = {"MEM", "STR", "EVT", "CBK", "SOM", "TDN"}
# The clauses of these kinds in the other areas.
THREE_MUTANTS_TOO = {
    "CPY-004", "CPY-005", "CPY-006", "CPY-009", "CPY-010", "CPY-015", "CPY-016", "CPY-017",
    "CPY-018", "CPY-019", "DEV-003", "DEV-004", "DEV-009", "DEV-010", "DEV-011", "DEV-018",
    "DEV-022", "DEV-023", "DEV-025", "ERR-001", "ERR-003", "ERR-004", "ERR-005", "ERR-006",
    "ERR-007", "FLT-002", "FLT-003", "FLT-004", "FLT-005", "FRK-001", "FRK-003", "FRK-004",
    "KRN-003", "KRN-004", "KRN-006", "KRN-007", "KRN-008", "KRN-009", "KRN-010", "KRN-013",
    "KRN-017", "KRN-021", "KRN-024", "KRN-026", "KRN-112", "KRN-113", "KRN-116", "LIB-006",
    "LIB-007", "PER-005", "PER-006", "PIN-002", "PIN-003", "PIN-004", "PIN-007", "PIN-009",
    "RNG-007", "RNG-008", "THR-001", "THR-002", "THR-003", "THR-004", "THR-005", "THR-006",
}  # fmt: skip
FIRST_TORCH_NUMBER = 501
PART_LIMIT = 300
TEMPLATE_LIMIT = 150
DTYPE = re.compile(r"^\s*X\((\w+), \d+, \d+\)", re.MULTILINE)
TEST_FUNCTION = re.compile(r"\bvoid\s+(\w+)\s*\(\s*tbk_fixture_t\s*\*\s*\w+\s*\)\s*\{")
# A report shows one sentence, without its neighbours.
LEANS = re.compile(r"\b[A-Z]{3}-\d{3}\b|^the same (?:after|as|for|with)\b|\bsuch an?\b")
ENTRY = re.compile(r"\(\*(\w+)\)\s*\(\s*tbk_instance_t\*")


def header_blocks(world: World) -> Iterator[str]:
    """Every entry has a doc block, and every block has all labels in order."""
    documented = {block.function for block in world.blocks}
    for file, text in world.headers.items():
        for name in ENTRY.findall(COMMENT.sub(" ", text)):
            if name not in documented:
                yield f"{file}: {name} has no doc block"
    for block in world.blocks:
        yield from _block_faults(block)


def _block_faults(block: Block) -> Iterator[str]:
    place = f"{block.file}:{block.number}: {block.function}"
    order = [line.label for line in block.lines]
    for label in LABELS:
        if label not in order:
            yield f"{place} lacks the line {label}"
    for label in dict.fromkeys(order):
        if label not in LABELS:
            yield f"{place} has the unknown line {label}"
    known = [LABELS.index(label) for label in order if label in LABELS]
    if known != sorted(known):
        yield f"{place} has its lines out of order"
    for line in block.lines:
        if line.label == "Since" and not line.text.isdigit():
            yield f"{line.file}:{line.number}: Since of {block.function} is no ABI version"
        if line.label != "Since" and line.clause is None and line.text != "none.":
            yield f"{line.file}:{line.number}: {line.label} of {block.function} ends in no id"


def header_words(world: World) -> Iterator[str]:
    """Every line of the header is a clause of the spec, in the same words wherever it stands."""
    known = world.by_id()
    first: dict[str, HeaderLine] = {}
    for line in (line for block in world.blocks for line in block.lines if line.clause):
        place = f"{line.file}:{line.number}: {line.clause}"
        if str(line.clause) not in known:
            yield f"{place} is not in the spec"
        as_before = first.setdefault(str(line.clause), line)
        before = f"{as_before.file}:{as_before.number}"
        if line.text != as_before.text:
            yield f'{place} says "{line.text}", and at {before} "{as_before.text}"'
        if line.label != as_before.label:
            yield f"{place} is a line {line.label}, and at {before} {as_before.label}"
    functions = {one.name for one in world.interface.functions}
    for clause in world.c_clauses():
        if clause.id not in first and clause.of != (PROGRAM,):
            word = "is no function" if functions.isdisjoint(clause.of) else "does not state it"
            yield f"{clause.file}: {clause.id} is of {', '.join(clause.of)}, which {word}"


def header_tables(world: World) -> Iterator[str]:
    """The tables can be read as arrays, each function lies in one, and words mean one thing."""
    names = {table.name for table in world.interface.tables}
    types = {table.type for table in world.interface.tables}
    for table in world.interface.tables:
        order = [one.optional for one in table.functions]
        if order != sorted(order):
            yield f"the table {table.name} has a mandatory function behind one that may be NULL"
        if len(table.needs) > 1 or not names.issuperset(table.needs):
            yield f"the table {table.name} needs {', '.join(table.needs)}: name one table"
    for function in world.interface.functions:
        if f"{function.struct}_t" not in types | {"_t", "tbk_kernel_t"}:
            yield f"{function.file}: {function.name} is in {function.struct}, which is no table"
    for word, count in Counter(world.interface.words).items():
        if count > 1:
            yield f"{word} means {count} things in `needs`"


def spec_schema(world: World) -> Iterator[str]:
    """Each clause file keeps to schema.json."""
    schema = json.loads((world.contracts / "spec" / "schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    for path in clause_files(world.contracts):
        entries = load_entries(path)
        for error in validator.iter_errors(entries):
            where = error.absolute_path
            item = entries[int(where[0])] if where else {}
            member = ".".join(str(part) for part in list(where)[1:]) or "clause"
            place = f"{path.relative_to(world.contracts)}: {item.get('id', '?')}"
            yield f"{place} {member}: {error.message}"


def spec_sense(world: World) -> Iterator[str]:
    """What a schema cannot say: unique ids, files by area, layers, and what a sentence promises."""
    if not world.clauses:
        yield "spec: there is no clause"
    for clause_id, count in Counter(clause.id for clause in world.clauses).items():
        if count > 1:
            yield f"{clause_id} stands {count} times in the spec"
    for clause in world.clauses:
        yield from _clause_faults(clause, world.areas)


def _clause_faults(clause: Clause, areas: dict[str, str]) -> Iterator[str]:
    place = f"{clause.file}: {clause.id}"
    if "c" in clause.layer:
        if areas.get(clause.prefix) != clause.area:
            yield f"{place} belongs into {areas.get(clause.prefix, 'no area')}.yml"
        if clause.number >= FIRST_TORCH_NUMBER:
            yield f"{place} has a number of the torch layer"
        if clause.profile == "torch":
            yield f"{place} can be seen at the C layer, but its profile is torch"
    else:
        if clause.number < FIRST_TORCH_NUMBER or "/torch/" not in clause.file:
            yield f"{place} is of the torch layer: spec/torch/, numbers from {FIRST_TORCH_NUMBER}"
        if clause.profile != "torch":
            yield f"{place} is of the torch layer, and so is its profile"
    if clause.text.endswith("(checked).") and clause.kind != "checked":
        yield f"{place} says (checked), its kind is {clause.kind}"
    if clause.text.endswith("(undefined).") != (
        clause.line == "Requires" and clause.kind == "undefined"
    ):
        yield f"{place}: (undefined), the line Requires and the kind do not agree"
    if found := LEANS.search(clause.text):
        yield f"{place} cannot be read alone: {found[0]!r}"


def lock(world: World) -> Iterator[str]:
    """No id is reused, and no sentence changes unnoticed."""
    current, retired = world.lock.current, world.lock.retired
    ids = world.by_id()
    for clause_id, clause in ids.items():
        if clause_id in retired:
            yield f"{clause_id} was used before and is retired: take a new number"
        elif clause_id not in current:
            yield f"{clause_id} is new: check_spec.py --accept"
        elif current[clause_id] != text_digest(clause.text):
            yield f"{clause_id} has a changed sentence: review its tests, check_spec.py --accept"
    for clause_id in current.keys() - ids.keys():
        yield f"{clause_id} has gone: check_spec.py --accept retires it"


def tests_cite(world: World) -> Iterator[str]:
    """Each checked clause is cited by a row, and each row cites a checked clause."""
    known = world.by_id()
    cited = {row.clause for row in world.rows}
    for clause in world.c_clauses():
        if clause.kind == "checked" and clause.id not in cited:
            yield f"{clause.file}: {clause.id} is checked, and no test cites it"
    for row in world.rows:
        place = f"{row.file}:{row.number}: {row.name}"
        cites = known.get(row.clause)
        if cites is None:
            yield f"{place} cites {row.clause}, which is not in the spec"
        elif "c" not in cites.layer:
            yield f"{place} cites {row.clause}, which cannot be seen at the C layer"
        elif cites.kind != "checked":
            yield f"{place} cites {row.clause}, which is {cites.kind}"


def tests_rows(world: World) -> Iterator[str]:
    """Each row names a test function, once, and needs only words that are known."""
    for name, count in Counter(row.id for row in world.rows).items():
        if count > 1:
            yield f"{name} stands in {count} rows"
    defined = set(TEST_FUNCTION.findall("\n".join(world.test_texts.values())))
    for row in world.rows:
        place = f"{row.file}:{row.number}: {row.name}"
        if row.name not in defined:
            yield f"{place} is no test function"
        yield from _unknown_words(world, place, row.needs)
    for clause in world.c_clauses():
        yield from _unknown_words(world, f"{clause.file}: {clause.id}", clause.needs)
    for file, text in world.test_texts.items():
        found = len(re.findall(r"\bTBK_CASE\s*\(", text))
        parsed = sum(f"contracts/{row.file}" == file for row in world.rows)
        if file.endswith("_test.c") and found != parsed:
            yield f"{file}: {found} rows, of which {parsed} can be read"


def tests_suites(world: World) -> Iterator[str]:
    """Each suite that has rows is run, and each that is run has rows."""
    if world.suites is None:
        return
    written = {row.suite for row in world.rows}
    for name in sorted(written - world.suites):
        yield f"suite {name} is not in suites.c: its tests never run; ci/update"
    for name in sorted(world.suites - written):
        yield f"suite {name} is in suites.c, and has no rows"


def _unknown_words(world: World, place: str, needs: str | None) -> Iterator[str]:
    for word in (needs or "").split():
        plain = word.removeprefix("!")
        kind, colon, name = plain.partition(":")
        if colon:
            dtypes = set(DTYPE.findall("\n".join(world.headers.values())))
            listed = {"op": world.operators, "dtype": dtypes}
            if name not in listed.get(kind, set()):
                yield f"{place} needs {word}, which is not known"
        elif plain not in world.needs_words:
            yield f"{place} needs {word}, which neither the header nor needs.h knows"


def tests_names(world: World) -> Iterator[str]:
    """No test knows a backend by name."""
    names = "|".join(sorted(world.backend_names))
    pattern = re.compile(rf"\b(?:tbk_)?({names})\b", re.IGNORECASE)
    for file, text in world.test_texts.items():
        for found in dict.fromkeys(pattern.findall(text)):
            yield f"{file} names the backend {found}"


def mutants(world: World) -> Iterator[str]:
    """Each checked `must` clause can be seen to fail, and no mutant breaks what nobody states."""
    if world.mutants is None:
        return
    known = world.by_id()
    for name, count in Counter(mutant.name for mutant in world.mutants).items():
        if count > 1:
            yield f"mutant {name} stands {count} times in the tables"
    for mutant in world.mutants:
        if mutant.clause not in known:
            yield f"mutant {mutant.name} breaks {mutant.clause}, which is not in the spec"
    for clause in (one for one in world.c_clauses() if one.checked_must):
        breaking = [mutant for mutant in world.mutants if mutant.clause == clause.id]
        wanted = 3 if clause.prefix in THREE_MUTANTS or clause.id in THREE_MUTANTS_TOO else 1
        if len(breaking) < wanted:
            yield f"{clause.file}: {clause.id} has {len(breaking)} of {wanted} mutants"
        if breaking and wanted > 1 and not any(mutant.narrow for mutant in breaking):
            yield f"{clause.file}: {clause.id} has no narrow mutant"


def torch_tests(world: World) -> Iterator[str]:
    """The tests of the torch layer cite clauses, need known words, and name no backend."""
    yield from spec_torch.tests_faults(world.torch, world.clauses)
    yield from spec_torch.cited_faults(world.torch, world.clauses)


def torch_mutants(world: World) -> Iterator[str]:
    """Each checked `must` clause of the torch layer can be seen to fail."""
    if world.mutants is not None:
        yield from spec_torch.mutants_faults(world.torch, world.clauses)


def sizes(world: World) -> Iterator[str]:
    """The parts of the header stay pages, the template small."""
    for file, text in world.headers.items():
        if (lines := text.count("\n")) > PART_LIMIT:
            yield f"{file} has {lines} lines; {PART_LIMIT} are allowed"
    code = sum(map(code_lines, sorted((world.root / "reference_backends/template").glob("*.[ch]"))))
    if code > TEMPLATE_LIMIT:
        yield f"reference_backends/template has {code} lines of C; {TEMPLATE_LIMIT} are allowed"


def code_lines(path: Path) -> int:
    """Lines that are neither blank nor comment only."""
    text = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), path.read_text())
    return sum(bool(line.strip()) for line in text.splitlines())


def profiles(world: World) -> Iterator[str]:
    """Yields what is wrong with the profiles; one that asks for no clause is."""
    entries = load_profiles(world.contracts)
    found = list(profile_faults(entries, world.clauses))
    yield from found
    for one in () if found else make_profiles(entries, world.clauses):
        if not one.clauses:
            yield f"profiles.yml: {one.name} asks for no clause"


CHECKS: tuple[Callable[[World], Iterator[str]], ...] = (
    header_blocks,
    header_words,
    header_tables,
    spec_schema,
    spec_sense,
    spec_builds.bases,
    lock,
    tests_cite,
    spec_builds.checks,
    tests_rows,
    tests_suites,
    tests_names,
    mutants,
    spec_pairs.pairs_sense,
    spec_pairs.pairs_complete,
    spec_pairs.pairs_mutants,
    spec_pairs.pairs_tested,
    torch_tests,
    torch_mutants,
    sizes,
    profiles,
)
