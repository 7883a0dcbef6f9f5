# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""tbk init: the files by which a CI system judges a device, made from templates."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jinja2

SCRIPT = "ci/tbk.sh"
MARK = "Written by `tbk init"
MOST_SHARDS = 256  # jobs that GitHub takes in a matrix
TARGET = re.compile(r"^\s*add_library\(\s*([A-Za-z0-9_]+)\s+(?:MODULE|SHARED)\b", re.MULTILINE)
LABEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*(?:,[A-Za-z0-9_][A-Za-z0-9_.:/-]*)*")
DEVICE = re.compile(r"[A-Za-z0-9_]+(?::\d+)?")
MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
BASELINE = f"{SCRIPT} baseline   # with the device at hand: what fails today is known from now on"


class InitError(ValueError):
    """Why nothing was written, in one line."""


@dataclass(frozen=True)
class System:
    """What is written for one CI system: templates by path, and what to do then."""

    files: Mapping[str, str]
    next: Sequence[str]
    if_absent: Mapping[str, str] = field(default_factory=dict)
    at_root: bool = True  # it looks for its file in the root of the repository alone


_COMMIT = "git add {files} tbk-baseline.toml && git commit -m 'Judge the device by tbk'"
SYSTEMS: Mapping[str, System] = {
    "github": System(
        {".github/workflows/tbk.yml": "github.yml.j2"},
        (BASELINE, _COMMIT,
         "gh variable set TBK_PACKAGE --body ...   # what pip installs, where a runner has no tbk"),
    ),
    "gitlab": System(
        {"ci/tbk.gitlab-ci.yml": "gitlab.yml.j2"},
        (BASELINE, _COMMIT,
         "Build > Pipeline schedules: one a night   # .gitlab-ci.yml has to include ours"),
        {".gitlab-ci.yml": "gitlab-root.yml.j2"},
    ),
    "jenkins": System(
        {"ci/tbk.Jenkinsfile": "Jenkinsfile.j2"},
        (BASELINE, _COMMIT, "New Item > Multibranch Pipeline, script path ci/tbk.Jenkinsfile"),
        at_root=False,
    ),
    "buildkite": System(
        {".buildkite/tbk.yml": "buildkite.yml.j2"},
        (BASELINE, _COMMIT,
         "buildkite-agent pipeline upload .buildkite/tbk.yml   # a step; and a schedule"),
    ),
    "ctest": System(
        {"ci/tbk.cmake": "tbk.cmake.j2"},
        (BASELINE,
         "include(ci/tbk.cmake)   # in CMakeLists.txt, behind enable_testing() and the target",
         "ctest --test-dir build -L tbk"),
        at_root=False,
    ),
    "shell": System(
        {},
        (BASELINE, f"{SCRIPT} quick      # at each push; 0: nothing new, 1: something new",
         f"{SCRIPT} night      # at night"),
        at_root=False,
    ),
    "pytorch-ci": System(
        {".github/workflows/tbk-pytorch.yml": "pytorch-ci.yml.j2"},
        (BASELINE, _COMMIT,
         "gh variable set TBK_PACKAGE --body ...   # then ask for a place in its allowlist"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Wish:
    """What is to be judged, and where."""

    library: str = ""
    device: str = ""
    imports: tuple[str, ...] = ()
    runner: str = ""
    shards: int = 1

    @property
    def name(self) -> str:
        """Returns a short name for folders and targets."""
        stem = self.device or Path(self.library).name.partition(".")[0].removeprefix("lib")
        return re.sub(r"\W", "_", stem, flags=re.ASCII) or "device"


@dataclass(frozen=True)
class Written:
    """What became of the files: written now, or kept as they were."""

    written: tuple[str, ...]
    kept: tuple[str, ...]


def guessed_library(root: Path) -> str:
    """Returns where CMake puts the library of the project here; empty where that is not plain."""
    try:
        found = TARGET.findall((root / "CMakeLists.txt").read_text("utf-8", "replace"))
    except OSError:
        return ""
    return f"build/lib{found[0]}.so" if len(found) == 1 else ""


def check(wish: Wish) -> None:
    """Raises InitError where a file could not say it."""
    if wish.device and not DEVICE.fullmatch(wish.device):
        raise InitError(f"--device {wish.device!r} is no name of a device of PyTorch")
    for name in wish.imports:
        if not MODULE.fullmatch(name):
            raise InitError(f"--import {name!r} is no name of a module")
    if wish.imports and not wish.device:
        raise InitError("--import goes with --device")
    if "\n" in wish.library or "\0" in wish.library:
        raise InitError("--library: a path has one line")
    if wish.runner and not LABEL.fullmatch(wish.runner):
        raise InitError(
            f"--runner {wish.runner!r} is no label, nor labels with commas between them"
        )


def _subject(wish: Wish) -> str:
    """Returns the words behind `tbk`, for bash."""
    if wish.device:
        words = ["check", wish.device, *(f"--import={name}" for name in wish.imports)]
        return shlex.join(words)
    library = wish.library if not wish.library.startswith("-") else f"./{wish.library}"
    escaped = re.sub(r'([\\"$`])', r"\\\1", library)
    return f'run "${{TBK_LIBRARY:-{escaped}}}"'


def _build(wish: Wish, root: Path) -> str:
    """Returns the command that builds the library, where it is plain."""
    if wish.library.startswith("build/") and (root / "CMakeLists.txt").is_file():
        return "cmake -S . -B build >/dev/null && cmake --build build"
    return ""


def _branch(root: Path) -> str:
    """Returns the branch that is checked out, as YAML; `main` where there is none."""
    try:
        head = (root / ".git" / "HEAD").read_text("utf-8").strip()
    except OSError:
        head = ""
    name = head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else "main"
    return name if re.fullmatch(r"[A-Za-z][\w./-]*", name) else json.dumps(name)


def _labels(system: str, runner: str) -> str:
    """Returns labels as the system wants them."""
    if system in ("github", "pytorch-ci"):
        return f"[{runner.replace(',', ', ')}]" if "," in runner else runner or "ubuntu-latest"
    return runner.replace(",", " && " if system == "jenkins" else ", ")


def _environment() -> jinja2.Environment:
    """The marks are none that bash, YAML, Groovy or GitHub's expressions use."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("tbk_harness", "ci_templates"),
        variable_start_string="<@", variable_end_string="@>",
        comment_start_string="<@#", comment_end_string="#@>",
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False,  # noqa: S701 - no HTML
    )  # fmt: skip


def rendered(system: str, wish: Wish, root: Path) -> dict[str, str]:
    """Returns the files by their path. Raises InitError."""
    check(wish)
    known = SYSTEMS[system]
    absent = {path: name for path, name in known.if_absent.items() if not (root / path).exists()}
    made = _environment()
    values = {
        "name": wish.name, "subject": _subject(wish), "build": _build(wish, root),
        "library": bool(wish.library), "runner": _labels(system, wish.runner),
        "shards": wish.shards, "branch": _branch(root),
    }  # fmt: skip
    templates = {SCRIPT: "tbk.sh.j2", **known.files, **absent}
    return {path: made.get_template(name).render(values) for path, name in templates.items()}


def _elsewhere(root: Path) -> Path | None:
    """Returns the root of the repository, where this folder is inside of one and not its root."""
    if (root / ".git").exists():
        return None
    return next((one for one in root.parents if (one / ".git").exists()), None)


def write(system: str, wish: Wish, root: Path, force: bool = False) -> Written:
    """Writes the files of a system; all, or none where one is there and differs. The script of
    another `tbk init` is kept, since all systems share it. Raises InitError and OSError."""
    above = _elsewhere(root) if SYSTEMS[system].at_root else None
    if above is not None:
        raise InitError(f"{system} reads its files in {above} alone, the root of the repository")
    files = rendered(system, wish, root)
    kept = tuple(path for path, text in files.items() if not force and _as_it_is(root / path, text))
    taken = [path for path in files if path not in kept and (root / path).exists() and not force]
    if taken:
        raise InitError(f"{taken[0]} is there already; nothing was written (--force overwrites it)")
    for path in files:
        if path not in kept:
            _write(root / path, files[path])
    return Written(tuple(path for path in files if path not in kept), kept)


def _as_it_is(path: Path, text: str) -> bool:
    """Returns whether a file stays: it says the same, or is the script that the user may have
    changed since."""
    try:
        there = path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return False
    return there == text or (path.name == Path(SCRIPT).name and MARK in there)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    if path.suffix == ".sh":
        path.chmod(0o755)
