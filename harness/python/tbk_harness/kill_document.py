# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The kill matrix as JSON, of which its page and its Markdown are made."""

from __future__ import annotations

from tbk_harness.kill import Matrix


def document(matrix: Matrix) -> dict[str, object]:
    """Returns the matrix as JSON."""
    return {
        "format": 1,
        "kind": "tbk-kill-matrix",
        "full": matrix.full,
        "seed": matrix.seed,
        "partial": matrix.partial,
        "brief": matrix.brief,
        "legal_parts": matrix.legal_parts,
        "good": not matrix.problems,
        "problems": matrix.problems,
        "must": list(matrix.must),
        "unproven": matrix.unproven,
        "equivalents": matrix.equivalents,
        "idle_tests": matrix.idle_tests,
        "tests": matrix.tests,
        "rows": [
            {
                "name": row.mutant.name,
                "kind": row.mutant.kind,
                "clauses": list(row.mutant.clauses),
                "operator": row.mutant.operator,
                "function": row.mutant.function,
                "fault": row.mutant.fault,
                "narrow": row.mutant.narrow,
                "note": row.mutant.note,
                "ran": len(row.ran),
                "killers": list(row.killers),
                "citing": list(row.citing),
                "exit_code": row.exit_code,
                "refused": row.refused,
                "said": row.said,
                "seconds": round(row.seconds, 3),
                "runs": row.runs,
            }
            for row in matrix.rows
        ],
    }
