# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tells what is wrong with the form of a file: keys, names, and schemas that can't be read."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

import jsonschema

from torch_tbk.custom.lines import Document
from torch_tbk.custom.near import meant

_SCHEMA = Path(__file__).with_name("schema.json")
_QUOTED = 40  # letters of a schema, from where PyTorch's parser stopped
_UNKNOWN_KEY = "additionalProperties"


@cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(_SCHEMA.read_text(encoding="utf-8")))


def check_form(document: Document) -> None:
    """Raises for the first thing that the schema of these files does not allow."""
    if document.value is None:
        raise document.error([], "the file is empty")
    errors = list(_validator().iter_errors(document.value))
    if not errors:
        return
    error = _first(errors)
    path = list(error.absolute_path)
    schema, there = error.schema, error.instance
    if error.validator == _UNKNOWN_KEY and isinstance(schema, dict) and isinstance(there, dict):
        allowed: list[str] = [*schema["properties"]]
        key = next(one for one in there if one not in allowed)
        raise document.error([*path, key], f"unknown key {key!r}{hint(key, allowed)}")
    place = ".".join(str(one) for one in path if isinstance(one, str))
    raise document.error(path, f"{place}: {error.message}" if place else error.message)


def _first(
    errors: Sequence[jsonschema.exceptions.ValidationError],
) -> jsonschema.exceptions.ValidationError:
    """Returns the error to tell. Of a missing key and an unknown one the latter: it is mistyped."""
    best: jsonschema.exceptions.ValidationError = jsonschema.exceptions.best_match(errors)
    if best.validator != "required":
        return best
    there = list(best.absolute_path)
    same = (one for one in errors if list(one.absolute_path) == there)
    return next((one for one in same if one.validator == _UNKNOWN_KEY), best)


def hint(word: str, there: Collection[str]) -> str:
    """Returns which word is meant, or which there are, for the end of a line."""
    return meant(word, there) or (f"; there are {', '.join(sorted(there))}" if there else "")


def unreadable(error: Exception) -> str:
    """Returns in a line what PyTorch's parser says: what it found, and the text at that place."""
    if isinstance(error, IndexError):  # it names a function of C++ alone
        return "a number is beyond 64 bits"
    lines = str(error).splitlines()
    said = next((" ".join(line.split()) for line in lines if line.strip()), "it does not say why")
    said = said.partition("please report a bug to PyTorch. ")[2] or said
    at = next((index for index, line in enumerate(lines) if line.rstrip().endswith("HERE")), 0)
    if at < 1:
        return said.removesuffix(" here:")
    # Behind a full stop PyTorch lists all types that there are.
    said = said if said.endswith("here:") else f"{said.partition('. ')[0].rstrip(' :')}:"
    return f"{said} {_from(lines[at - 1], len(lines[at]) - len(lines[at].lstrip()))!r}"


def _from(text: str, column: int) -> str:
    """Returns what stands there; the parser is at times behind a word that it can't read."""
    word = re.search(r"[\w.]*$", text[:column])
    start = word.start() if word else column
    return text[start : start + _QUOTED]
