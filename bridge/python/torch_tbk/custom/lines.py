# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A YAML file as plain values, of which each keeps the line that it stands in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

Path_ = tuple[str | int, ...]
_MOST_VALUES = 100_000  # aliases of aliases make many of few lines
_HEAD, _TAIL = 160, 80  # letters that are kept of a long message


def counted(count: int, noun: str) -> str:
    """Returns "1 rule", or "2 rules"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def clipped(says: str) -> str:
    """Returns a message without the middle of a long value that it repeats."""
    whole = len(says) <= _HEAD + _TAIL
    return says if whole else f"{says[:_HEAD]} ... {says[-_TAIL:]}"


class OperatorsError(ValueError):
    """A file of operators says what it can't say; the text begins with the file and the line."""


class Document:
    """What a file says, and where.

    `value` is made of dicts, lists and scalars. Threads: as those.
    """

    def __init__(self, name: str, text: str) -> None:
        """Reads `text`. `name` is what messages call the file. Raises OperatorsError."""
        self.name = name
        self._lines: dict[Path_, int] = {(): 1}
        self._open: list[yaml.Node] = []  # those around the one that is read
        try:
            loader = yaml.SafeLoader(text)
            try:
                node = loader.get_single_node()
                self.value: Any = None if node is None else self._read(loader, node, ())
            finally:
                loader.dispose()
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise OperatorsError(f"{name}:{line}: {clipped(str(error.problem))}") from None
        except yaml.YAMLError as error:
            raise OperatorsError(f"{name}:1: {clipped(' '.join(str(error).split()))}") from None
        except RecursionError:
            raise OperatorsError(f"{name}:1: it is nested too deep") from None

    def error(self, path: Sequence[str | int], says: str) -> OperatorsError:
        """Returns what is wrong at `path`: the line of the deepest part of it that is there."""
        return OperatorsError(f"{self.where(path)}: {clipped(says)}")

    def where(self, path: Sequence[str | int]) -> str:
        """Returns the file and the line of what stands at `path`."""
        found = tuple(path)
        while found not in self._lines:
            found = found[:-1]
        return f"{self.name}:{self._lines[found]}"

    def _read(self, loader: yaml.SafeLoader, node: yaml.Node, path: Path_) -> Any:
        self._lines[path] = line = node.start_mark.line + 1
        if any(one is node for one in self._open):
            raise OperatorsError(f"{self.name}:{line}: an alias stands within what it names")
        if len(self._lines) > _MOST_VALUES:
            raise OperatorsError(f"{self.name}:{line}: more than {_MOST_VALUES} values")
        self._open.append(node)
        try:
            return self._value(loader, node, path)
        except ValueError as error:  # such as a date that is none
            if isinstance(error, OperatorsError):
                raise
            raise OperatorsError(f"{self.name}:{line}: {clipped(str(error))}") from None
        finally:
            self._open.pop()

    def _value(self, loader: yaml.SafeLoader, node: yaml.Node, path: Path_) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self._read_mapping(loader, node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._read(loader, one, (*path, i)) for i, one in enumerate(node.value)]
        return loader.construct_object(node, deep=True)

    def _read_mapping(
        self, loader: yaml.SafeLoader, node: yaml.MappingNode, path: Path_
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            name = key.value
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise OperatorsError(f"{self.name}:{line}: a key is a word")
            if name in found:
                raise OperatorsError(f"{self.name}:{line}: {name!r} stands here twice")
            place = (*path, name)
            found[name] = self._read(loader, value, place)
            self._lines[place] = line
        return found


def read_document(path: Path) -> Document:
    """Reads a file. Raises OperatorsError, in one line, where it can't be read."""
    try:
        return Document(str(path), path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise OperatorsError(f"{path}: it can't be read: {reason}") from None
