# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the order of causes goes by: which clause builds on which, and which one a check is of."""

from __future__ import annotations

import re
from collections.abc import Iterator

from spec_world import World
from tbk_contracts import circle, load_bases

QUOTED = re.compile(r'"([A-Z]{3}-\d{3})"')


def bases(world: World) -> Iterator[str]:
    """Each clause builds on checked ones of its layer, and none on itself, however far around."""
    known = {one.id: one.layer for one in world.clauses if one.kind == "checked"}
    for one in world.clauses:
        for base in one.builds_on:
            if not set(one.layer) & set(known.get(base, ())):
                layer = "C" if "c" in one.layer else "PyTorch's layer"
                known_as = f"no checked clause of {layer}"
                yield f"{one.file}: {one.id} builds on {base}, which is {known_as}"
    around = circle(load_bases(world.contracts, world.clauses))
    if around:
        yield f"{' builds on '.join([*around, around[0]])}: a circle"


def checks(world: World) -> Iterator[str]:
    """A clause that the toolkit or a test names is one that a test of its own can show."""
    cited = {row.clause for row in world.rows}
    for file, text in world.test_texts.items():
        for named in dict.fromkeys(QUOTED.findall(text)):
            if named not in cited:
                yield f"{file} names {named}, which no test is of"
