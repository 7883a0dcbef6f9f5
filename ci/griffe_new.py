# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""For the Python reference: a class that is made by `__new__` has its signature from there."""

from __future__ import annotations

from typing import Any

import griffe


class SignatureOfNew(griffe.Extension):
    """griffe knows of `__init__` only."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        new = cls.members.get("__new__")
        if isinstance(new, griffe.Function) and "__init__" not in cls.members:
            cls.set_member("__init__", new)
