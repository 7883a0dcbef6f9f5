# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What must hold: the clauses of the contract, where the header states them, what tests them."""

from tbk_contracts.builds import (
    all_bases,
    answered_clause,
    bases_of,
    circle,
    load_bases,
    main_clause,
    refused_clause,
)
from tbk_contracts.clause import (
    PROGRAM,
    Clause,
    SpecError,
    at_layer,
    clause,
    clause_files,
    clauses,
    load_areas,
    load_clauses,
    load_entries,
    spec_digest,
    text_digest,
)
from tbk_contracts.header import (
    Block,
    HeaderLine,
    flags,
    header_lines,
    load_header,
    opcodes,
    parse_header,
)
from tbk_contracts.interface import (
    Function,
    HeaderError,
    Interface,
    Parameter,
    Table,
    interface,
    load_interface,
)
from tbk_contracts.places import contracts_root
from tbk_contracts.rows import Row, load_rows, parse_rows, tests_of

__all__ = [
    "PROGRAM",
    "Block",
    "Clause",
    "Function",
    "HeaderError",
    "HeaderLine",
    "Interface",
    "Parameter",
    "Row",
    "SpecError",
    "Table",
    "all_bases",
    "answered_clause",
    "at_layer",
    "bases_of",
    "circle",
    "clause",
    "clause_files",
    "clauses",
    "contracts_root",
    "flags",
    "header_lines",
    "interface",
    "load_areas",
    "load_bases",
    "load_clauses",
    "load_entries",
    "load_header",
    "load_interface",
    "load_rows",
    "main_clause",
    "opcodes",
    "parse_header",
    "parse_rows",
    "refused_clause",
    "spec_digest",
    "tests_of",
    "text_digest",
]
