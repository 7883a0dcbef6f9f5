# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What a user would download: an sdist of a clean clone, a wheel of that sdist, and venvs."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PIP = ["-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index"]
BACKEND = "import sys, scikit_build_core.build as b; print(getattr(b, sys.argv[1])(*sys.argv[2:]))"


def environment(**more: str) -> dict[str, str]:
    """This one, without what points at the checkout."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TBK_", "PYTHON"))}
    # The compilers by the names under which CMake finds them by itself: ccache looks at the name.
    return {"CC": "cc", "CXX": "c++", **kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **more}


def run(
    *command: str | Path, cwd: Path, expect: int = 0, **more: str
) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [str(word) for word in command],
        cwd=cwd, env=environment(**more), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == expect, ended.stdout + ended.stderr
    return ended


def as_in_a_checkout(source: Path) -> list[str]:
    """Puts this environment where a checkout has its own, and returns what a build is to be told.

    CI has just compiled the same files against the same PyTorch. The compiler's cache knows them
    again only where PyTorch, too, is found at the same place beside them, and with the same
    options: an installation is built without -Werror.
    """
    (source / ".venv").symlink_to(sys.prefix)
    define = "--config-settings=cmake.define"
    return [
        f"{define}.Python_EXECUTABLE={source}/.venv/bin/python",
        f"{define}.TBK_WARNINGS_AS_ERRORS=ON",
    ]


class Venv:
    """A fresh environment that sees PyTorch and the rest of this one's, but not this project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
        site = next(folder.glob("lib/python*/site-packages"))
        # A path, and none of the .pth files at its end: those would bring the checkout in.
        (site / "pytorch.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def __call__(
        self, *arguments: str | Path, cwd: Path | None = None, expect: int = 0, **more: str
    ) -> subprocess.CompletedProcess[str]:
        python = self.folder / "bin" / "python"
        return run(python, *arguments, cwd=cwd or self.folder, expect=expect, **more)

    def tbk(
        self, *arguments: str | Path, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        return run(self.folder / "bin" / "tbk", *arguments, cwd=cwd or self.folder)


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns what is committed, and nothing that only lies about."""
    folder = tmp_path_factory.mktemp("clone") / "tbk"
    run("git", "clone", "--quiet", "--depth=1", ROOT.as_uri(), folder, cwd=ROOT)
    return folder


@pytest.fixture(scope="session")
def sdist(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-c", BACKEND, "build_sdist", folder, cwd=clone)
    return next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="session")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the sdist alone, so that the sdist has what that takes."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    source = next(path for path in folder.iterdir() if path.is_dir())
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps",
        "--config-settings=build-dir=build", *as_in_a_checkout(source), "--wheel-dir", folder,
        source, cwd=folder)  # fmt: skip
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Venv:
    venv = Venv(tmp_path_factory.mktemp("installed") / "venv")
    venv(*PIP, wheel)
    return venv
