# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a shell offers behind an option when Tab is pressed."""

from __future__ import annotations

from collections.abc import Iterable

import click

from tbk_harness import torch_names


def _beginning(words: Iterable[str], incomplete: str) -> list[str]:
    return sorted(word for word in set(words) if word.startswith(incomplete))


def selectors(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Words of --only: areas, profiles, suites and clauses; tests where a slash was typed."""
    from tbk_harness.suggest import selectors as known  # noqa: PLC0415

    return _beginning((one for one in known() if ("/" in incomplete) == ("/" in one)), incomplete)


def subjects(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """What tbk show takes."""
    from tbk_harness.explain import subjects as known  # noqa: PLC0415

    return _beginning((one for one in known() if ("/" in incomplete) == ("/" in one)), incomplete)


def capabilities(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Words of both layers."""
    from tbk_harness.suggest import capability_words  # noqa: PLC0415

    return _beginning({*capability_words(), *torch_names.capability_words()}, incomplete)


def devices(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """The devices that PyTorch has a name for."""
    return _beginning(torch_names.device_types(), incomplete)
