# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Judges the entries that it is told on standard input, one line each, and answers on a pipe.

A process of its own: what crashes or hangs ends this one and not the table.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Any

import forms
import torch
import torch_tbk
from compare import judge
from table import FORMS, Item
from torch.testing._internal.common_methods_invocations import op_db

DTYPES = (torch.float32, torch.int64)


def _without() -> list[str]:
    """Entries that the CPU has with neither dtype."""
    return [
        f"{entry.name}.{entry.variant_test_name}".removesuffix(".")
        for entry in op_db
        if not entry.supported_dtypes("cpu").intersection(DTYPES)
    ]


def _items() -> list[Item]:
    return [
        Item(index, entry.name, entry.variant_test_name, str(dtype).removeprefix("torch."), form)
        for form in FORMS
        for index, entry in enumerate(op_db)
        if form in forms.of(entry)
        for dtype in DTYPES
        if dtype in entry.supported_dtypes("cpu")
    ]


def main() -> None:
    library, options, most, answers = sys.argv[1:]
    torch.set_num_threads(1)
    backend = torch_tbk.load(library, options=options)
    entries: list[Any] = list(op_db)
    with os.fdopen(int(answers), "w", encoding="utf-8") as out:
        items = [asdict(item) for item in _items()]
        hello = {
            "torch": torch.__version__,
            "backend": backend.backend_name,
            "items": items,
            "without": _without(),
        }
        print(json.dumps(hello), file=out, flush=True)
        for line in sys.stdin:
            item = Item(**json.loads(line))
            outcome = judge(backend, entries[item.index], item, int(most))
            print(json.dumps(asdict(outcome)), file=out, flush=True)
    os._exit(0)  # nothing is left to be done, and seconds of tearing down would be


if __name__ == "__main__":
    main()
