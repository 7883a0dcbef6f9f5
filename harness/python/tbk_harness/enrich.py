# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sentences and sources for tests whose records do not carry them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

import tbk_contracts
from tbk_contracts import Clause
from tbk_reports.calls import (
    FLAG,
    IN_REDUCTION,
    IN_SCAN,
    ON_FOREIGN,
    ON_OTHER_DEVICE,
    ON_OTHER_THREAD,
    ON_STREAM,
    OPCODE,
    WHILE_CLOSED,
    WITHOUT_STREAM,
)
from tbk_reports.model import ResultFile, Test
from tbk_reports.ranking import WHERE_WORK_RUNS

# The generic kernels that run programs, and where a program of theirs has its opcodes.
_OF_PROGRAMS = {"op:tbk::pointwise": "", "op:tbk::reduce": IN_REDUCTION, "op:tbk::scan": IN_SCAN}
# What a clause of threads that names no function speaks of.
_OF_OTHERS = re.compile(r"what one thread made|a thread that ends")
_OF_DEVICES = re.compile(r"the device that it names")


def _source(clause: Clause) -> str:
    """Returns where the header states it, then where it comes from."""
    in_header = [name for name in clause.functions if "torch" not in name and name.isidentifier()]
    stated = [f"tbk.h: {', '.join(in_header[:3])}"] if in_header and "c" in clause.layer else []
    return "; ".join([*stated, *clause.source])


def _about(clause: Clause) -> tuple[str, ...]:
    """Returns what it speaks of: its operators and opcodes, or its functions, called in the way
    that it says.
    """
    operators = [word for word in (clause.needs or "").split() if word.startswith("op:")]
    if operators:
        return _content(clause) or tuple(operators)
    way = ""
    if clause.text.startswith("stream NULL"):
        way = WITHOUT_STREAM
    elif clause.text.startswith("with a stream"):
        way = ON_STREAM
    elif clause.prefix == "THR" and _OF_OTHERS.search(clause.text):
        return tuple(one.name + ON_FOREIGN for one in tbk_contracts.interface().functions)
    elif clause.prefix == "THR" and _OF_DEVICES.search(clause.text):
        return tuple(one.name + ON_OTHER_DEVICE for one in tbk_contracts.interface().functions)
    elif clause.prefix == "THR":
        way = ON_OTHER_THREAD
    elif clause.text.startswith("giving back"):
        return tuple(one + WHILE_CLOSED for one in _giving_back())
    elif clause.text.startswith("every call that names the device"):
        return (*clause.functions, *tbk_contracts.refusing(clause.id))
    return tuple(name + way for name in clause.functions or _named(clause))


def _content(clause: Clause) -> tuple[str, ...]:
    """Returns what of a generic kernel's arguments a sentence speaks of: the flag that it begins
    with, or opcodes of its programs, where it names some or says "each".
    """
    for flag in tbk_contracts.flags():
        if clause.text.startswith(f"with {flag} "):
            return (FLAG + flag,)
    needs = (clause.needs or "").split()
    places = [place for kernel, place in _OF_PROGRAMS.items() if kernel in needs]
    words = set(re.findall(r"\b[A-Z][A-Z_0-9]+\b", clause.text))
    words.add(clause.text.partition(" ")[0].upper().removesuffix("S"))  # "numbers are arguments"
    is_each = clause.text.startswith("each opcode")
    named = [name for name in tbk_contracts.opcodes() if is_each or name in words]
    return tuple(OPCODE + name + place for place in places for name in named)


def _giving_back() -> tuple[str, ...]:
    """The functions that give something back: they answer nothing, or free memory."""
    functions = tbk_contracts.interface().functions
    return tuple(one.name for one in functions if one.name.endswith(("_free", "_destroy")))


def _in_words(clause: Clause) -> tuple[str, ...]:
    """Returns the functions that a sentence names."""
    words = set(re.findall(r"\w+", clause.text))
    return tuple(one.name for one in tbk_contracts.interface().functions if one.name in words)


def _named(clause: Clause) -> tuple[str, ...]:
    """Returns the functions that a sentence at none of them names; of kernels, what runs them."""
    return _in_words(clause) or (
        ("launch",) if clause.area == "kernel" and "c" in clause.layer else ()
    )


def _implied(test: Test, clause: Clause) -> str:
    """Returns the clause that a failed check which names none is of, where that is not the test's:
    a legal call was refused in a way that a clause excludes, a function did not answer as a clause
    of its own says, or one that the test's clause does not speak of did not do what it does.
    """
    if test.layer != "c" or not test.failed or test.checked:
        return ""
    refused = test.recorded == "fail" and test.expected == "OK"
    status = test.seen.partition(" ")[0]
    # INVALID_STATE says that the device is not open, whatever else had to be refused.
    unopened = test.recorded == "fail" and test.expected.isupper() and status == "INVALID_STATE"
    if (refused or unopened) and (named := tbk_contracts.refused_clause(test.call, status)):
        return named
    unanswered = test.recorded == "fail" and test.expected != "OK"
    if unanswered and (named := tbk_contracts.answered_clause(test.call, test.expected)):
        return named if named != clause.id else ""
    inside = test.recorded in ("crash", "hang") and test.cause.endswith(f"/in {test.call}")
    if test.recorded == "crash" and test.call in WHERE_WORK_RUNS:
        return ""  # it may be one of anything that was enqueued before
    about = {name.partition(" ")[0] for name in _about(clause)}.union(_in_words(clause))
    if not (refused or inside) or test.call in about or not clause.functions:
        return ""
    return tbk_contracts.main_clause(test.call)


def _filled(test: Test, same_wording: bool) -> Test:
    clause = tbk_contracts.clause(test.clause)
    if clause is None:
        return test
    sentence = test.clause_text or (clause.text if same_wording else "")
    # A sentence of another wording has other sources, too.
    fits = same_wording or sentence == clause.text
    source = test.clause_source or (_source(clause) if fits else "")
    filled = replace(test, clause_text=sentence, clause_source=source)
    if not fits:
        return filled
    implied = _implied(filled, clause)
    bases = tbk_contracts.all_bases(clause.id)
    of_torch = test.layer == "torch"  # whose calls no record has: a test asks what it stands on
    return replace(
        filled,
        asked=frozenset({clause.id, *bases}) if of_torch else test.asked,
        about=(clause.id,) if of_torch else _about(clause),
        label=clause.line or "",
        bases=bases,
        checked=implied or (test.checked if test.layer == "c" and test.failed else ""),
        implied=bool(implied),
    )


def layer_digest(layer: str) -> str:
    """Returns the digest that a run of this package's spec has for a layer."""
    among = tbk_contracts.at_layer(layer, tbk_contracts.clauses())
    sentences = "".join(f"{one.id} {one.text}\n" for one in among)
    return hashlib.sha256(sentences.encode()).hexdigest()


def enrich(results: ResultFile) -> ResultFile:
    """Fills them in where this package's spec has the wording that the run was made with."""
    spec = results.header.get("spec")
    stated = str(spec.get("digest") or "") if isinstance(spec, dict) else ""
    same = stated in (layer_digest("c"), layer_digest("torch"))
    return replace(results, tests=tuple(_filled(test, same) for test in results.tests))
