# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Keeps compiled templates between processes, as Python keeps compiled modules, and beside them."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

_COMPILED_BY = ("autoescape", "trim_blocks", "lstrip_blocks", "optimized")
TEMPLATES = Path(__file__).resolve().parent / "templates"


class _Cache(jinja2.FileSystemBytecodeCache):
    """Does without where nothing can be written."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)


def template_cache(environment: jinja2.Environment) -> jinja2.BytecodeCache | None:
    """Returns where the templates of this environment are kept; None where Python would keep
    nothing either.

    Jinja compiles a template again when its text has changed. How it compiles, and its own version,
    are part of the file's name.
    """
    folder = Path(importlib.util.cache_from_source(str(TEMPLATES / "template.py"))).parent
    if sys.dont_write_bytecode:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    if not os.access(folder, os.W_OK):
        return None
    how = [getattr(environment, name) for name in _COMPILED_BY]
    digest = hashlib.sha256(f"{metadata.version('jinja2')} {how}".encode()).hexdigest()[:8]
    return _Cache(str(folder), f"%s.{digest}.{sys.implementation.cache_tag}.jinja")
