# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Print the table, one JSON object on each line."""

from __future__ import annotations

import dataclasses
import json

from tbk_torch_mutants import table

for row in table.rows().values():
    print(json.dumps(dataclasses.asdict(row)))
