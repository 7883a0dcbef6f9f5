# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a word names: a test, with the rule of tbk-run's --only, and the layer that a word of --only
can mean. tbk-run has one layer at a time, and takes a word that names none of its tests for a
mistake."""

from __future__ import annotations

from collections.abc import Iterable

import tbk_contracts

LAYERS = ("c", "torch")
TORCH_SUITES = "torch_"


def names(word: str, test_id: str) -> bool:
    """Returns whether a word names a test: by its whole id, or without its parameters, which names
    it with any."""
    return test_id == word or ("/" in word and test_id.startswith(f"{word}["))


def _means(word: str, layer: str) -> bool:
    if "/" in word or word.startswith(TORCH_SUITES):
        return word.startswith(TORCH_SUITES) == (layer == "torch")
    plain = word.removeprefix("profile:")
    return any(
        plain in (one.id, one.area, one.profile)
        or (3 <= len(plain) < 7 and one.id.startswith(plain))
        for one in tbk_contracts.at_layer(layer, tbk_contracts.clauses())
        if one.kind == "checked"
    )


def split(only: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Returns the words for each layer. One that means nothing is for both, which will say so."""
    found: dict[str, list[str]] = {layer: [] for layer in LAYERS}
    for word in only:
        meant = [layer for layer in LAYERS if _means(word, layer)]
        for layer in meant or LAYERS:
            found[layer].append(word)
    return {layer: tuple(words) for layer, words in found.items()}
