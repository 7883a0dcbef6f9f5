# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What is claimed of a run, and whether it was held against the clauses of this tbk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tbk_contracts
import tbk_contracts.profiles
from tbk_contracts.profiles import Profile
from tbk_reports.conformance import Claim, Promise
from tbk_reports.extent import selected_words
from tbk_reports.model import ResultFile
from tbk_reports.statement import headers
from tbk_reports.text import line

from tbk_harness import __version__
from tbk_harness.enrich import layer_digest


def profiles() -> dict[str, Profile]:
    """Returns the profiles of this tbk, by name."""
    return {one.name: one for one in tbk_contracts.profiles.profiles()}


def claim_of(results: ResultFile, profile: str = "") -> Claim:
    """Returns what is claimed of a run: `profile`, or all that the backend declares."""
    ran = headers(results.header)
    among = {one.id: one for layer in ran for one in tbk_contracts.at_layer(layer, all_clauses())}
    promises = [
        Promise(one.id, one.level, one.profile, one.text, one.kind == "checked", one.reason or "")
        for one in among.values()
    ]
    asked = profiles()[profile].document() if profile else None
    return Claim(profile, asked, tuple(promises), tuple(_doubts(results, promises)))


def all_clauses() -> Sequence[tbk_contracts.Clause]:
    """Returns the clauses of which a statement speaks."""
    return tbk_contracts.clauses()


def _doubts(results: ResultFile, promises: Sequence[Promise]) -> list[str]:
    """Returns why it can't be said that the run was of this suite: it has other sentences, or no
    test of a clause that has tests."""
    found = []
    for layer, header in headers(results.header).items():
        spec, suite = header.get("spec"), header.get("suite")
        stated = spec.get("digest") if isinstance(spec, Mapping) else None
        version = suite.get("version") if isinstance(suite, Mapping) else None
        if stated != layer_digest(layer):
            which = "a changed suite" if version == __version__ else f"tbk {version}"
            found.append(
                f"the {layer} layer was held against other clauses than those of tbk "
                f"{__version__}: those of {line(which, 60)}"
            )
    recorded = {test.clause for test in results.tests}
    silent = [one.id for one in promises if one.testable and one.id not in recorded]
    if silent and not found and not selected_words(results.header):
        named = ", ".join(silent[:6]) + (", …" if len(silent) > 6 else "")
        found.append(f"no test is recorded of {len(silent)} clauses that have tests: {named}")
    known = {one.id: one.sentence for one in promises}
    told = ((test.clause, test.clause_text) for test in results.tests if test.clause_text)
    other = [clause for clause, sentence in told if known.get(clause, sentence) != sentence]
    if other and not found:
        found.append(f"the records have another sentence for {other[0]} than this tbk")
    return found
