# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Calls that between them take each route of the bridge: what each kernel is asked for, by family.

A sample is called with a place, which brings operands to a device, and gives its results there. Its
numbers are different enough that a wrong one shows.
"""

from __future__ import annotations

from route_samples import (
    bins,
    complexes,
    elements,
    indices,
    lists,
    normalized,
    others,
    products,
    randoms,
    reductions,
    windows,
)
from route_samples.sample import Place, Sample

FAMILIES: dict[str, dict[str, Sample]] = {
    **elements.FAMILIES,
    **reductions.FAMILIES,
    **products.FAMILIES,
    **indices.FAMILIES,
    **normalized.FAMILIES,
    **windows.FAMILIES,
    **lists.FAMILIES,
    **randoms.FAMILIES,
    **bins.FAMILIES,
    **others.FAMILIES,
    **complexes.FAMILIES,
}
SAMPLES: dict[str, Sample] = {
    f"{family}: {name}": sample
    for family, samples in FAMILIES.items()
    for name, sample in samples.items()
}

__all__ = ["FAMILIES", "SAMPLES", "Place", "Sample"]
