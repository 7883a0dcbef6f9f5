# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What share of the entries is served without a fallback, and which entries that is asked of.

An entry counts where the bridge's counter of fallbacks stood at 0 after all its samples, forward
and backward, and no answer was wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from table import FUNCTION, Outcome

WITHOUT_FALLBACK = ("native", "composite")
# Kernels of libraries of linear algebra, of transforms and of sparse tensors: no program is one.
DECOMPOSITIONS = frozenset(
    {
        "_cholesky_solve_helper", "_linalg_det", "_linalg_eigh", "_linalg_eigvals",
        "_linalg_slogdet", "_linalg_solve_ex", "_linalg_svd", "cholesky", "cholesky_inverse",
        "geqrf", "linalg_cholesky_ex", "linalg_eig", "linalg_eigvals",
        "linalg_householder_product", "linalg_inv_ex", "linalg_ldl_factor_ex", "linalg_ldl_solve",
        "linalg_lstsq", "linalg_lu", "linalg_lu_factor_ex", "linalg_lu_solve", "linalg_qr",
        "linalg_solve_triangular", "lu_unpack", "ormqr", "triangular_solve",
    }
)  # fmt: skip
# Entries that make a tensor of none, or of one that only says how large and where.
FACTORIES = frozenset(
    {
        "arange", "empty", "empty_like", "empty_permuted", "empty_strided", "eye", "full",
        "full_like", "linspace", "logspace", "new_empty", "new_empty_strided", "new_full",
        "new_ones", "new_zeros", "ones", "ones_like", "rand_like", "randint", "randint_like",
        "randn", "randn_like", "scalar_tensor", "tril_indices", "triu_indices", "zeros",
        "zeros_like",
    }
)  # fmt: skip


def _base(operator: str) -> str:
    """Returns "linalg_qr" of "aten::linalg_qr.out"."""
    return operator.partition("::")[2].partition(".")[0]


def is_of_a_library(operator: str) -> bool:
    base = _base(operator)
    return base in DECOMPOSITIONS or base.startswith("_fft_") or "sparse" in base


def calls_a_library(outcome: Outcome) -> bool:
    return any(map(is_of_a_library, [*outcome.calls, *outcome.fallbacks]))


def share(outcomes: Iterable[Outcome]) -> str:
    """Returns "3 of 4 (75.0 %)". What PyTorch's CPU has no answer to is not asked for."""
    asked = [each for each in outcomes if each.state != "not run"]
    served = sum(each.state in WITHOUT_FALLBACK for each in asked)
    part = f" ({100 * served / len(asked):.1f} %)" if asked else ""
    return f"{served} of {len(asked)}{part}"


def shares(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Returns the shares that are asked for, by what they are of."""
    of: list[tuple[str, Callable[[Outcome], bool]]] = [
        ("float32 entries that call no library's kernel",
         lambda each: each.dtype == "float32" and not calls_a_library(each)),
        ("float32 entries", lambda each: each.dtype == "float32"),
        ("all entries and dtypes", lambda _: True),
        ("factories", lambda each: each.name.partition(".")[0] in FACTORIES),
    ]  # fmt: skip
    functions = [each for each in outcomes if each.form == FUNCTION]
    return {what: share(filter(belongs, functions)) for what, belongs in of}


def library_entries(outcomes: Sequence[Outcome]) -> dict[str, list[str]]:
    """Returns the float32 entries left out of the first share, with the kernels they call."""
    return {
        each.name: sorted({_base(one) for one in [*each.calls, *each.fallbacks]
                           if is_of_a_library(one)})
        for each in outcomes
        if each.form == FUNCTION and each.dtype == "float32" and calls_a_library(each)
    }  # fmt: skip


def most_wanted(outcomes: Sequence[Outcome]) -> list[tuple[str, list[str]]]:
    """Returns what fell back in float32 entries, the operator of most entries first."""
    wanted: dict[str, list[str]] = {}
    for each in outcomes:
        if each.form == FUNCTION and each.dtype == "float32" and not calls_a_library(each):
            for operator in {_base(one) for one in each.fallbacks}:
                wanted.setdefault(operator, []).append(each.name)
    return sorted(wanted.items(), key=lambda item: (-len(item[1]), item[0]))


def lines(outcomes: Sequence[Outcome]) -> list[str]:
    """Returns the part of the page that tells the shares."""
    text = ["## Without fallback", ""]
    text += ["Called as functions; of all samples of an entry, forward and backward.", ""]
    text += ["| of | without fallback |", "|---|---|"]
    text += [f"| {what} | {part} |" for what, part in shares(outcomes).items()]
    called = library_entries(outcomes)
    if called:
        text += ["", "These call a matrix decomposition, an FFT or a sparse kernel:", ""]
        text += [f"* {name}: {', '.join(kernels)}" for name, kernels in called.items()]
    wanted = most_wanted(outcomes)
    if wanted:
        text += ["", "What falls back in the other float32 entries:", ""]
        text += [f"* {operator}: {', '.join(entries)}" for operator, entries in wanted]
    return text
