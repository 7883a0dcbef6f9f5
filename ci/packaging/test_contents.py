# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Sdist and wheel hold what they need, and nothing else: what is expected comes from git."""

from __future__ import annotations

import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

pytest_plugins = ["fresh"]

# Where the files of a wheel come from: (pattern of a tracked file, what takes its place).
CARRIED = [
    (r"contracts/python/(tbk_contracts/.+)", r"\1"),
    (r"bridge/python/(torch_tbk/.+)(?<!\.in)", r"\1"),
    (r"harness/python/(tbk_harness/.+)", r"\1"),
    (r"reports/python/(tbk_reports/.+)", r"\1"),
    (r"contracts/((spec|include|alone|tests)/.+\.(c|h|json|yml))", r"tbk_contracts/data/\1"),
    (r"harness/(schema/.+)", r"tbk_harness/data/\1"),
    (r"reference_backends/(template(_generic|_named)?/.+)", r"tbk_harness/data/\1"),
    (r"reference_backends/(emit/(?!tests/).+\.(c|h|inc|cmake))", r"tbk_harness/data/\1"),
    (r"contracts/(program/(?!tests/).+\.(c|h))", r"tbk_harness/data/\1"),
]
COMPILED = {
    "tbk_harness/bin/tbk-cunit",
    "tbk_harness/bin/tbk-litmus",
    "tbk_harness/bin/tbk-run",
    "tbk_harness/lib/libtbk_cpu.so",
    "tbk_harness/lib/libtbk_gate_acl.so",
    "tbk_harness/lib/libtbk_gate_cuda.so",
    "tbk_harness/lib/libtbk_gate_keeper.so",
    "tbk_harness/lib/libtbk_launcher.so",
    "tbk_harness/lib/libtbk_opencl.so",
    "tbk_harness/lib/libtbk_template.so",
    "torch_tbk/_C.so",
    "torch_tbk/_build_info.json",
}
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
# Rooms and files that an sdist has no use for: it is there to be built.
NOT_IN_SDIST = re.compile(
    r"\.|ci/|docs/|mkdocs|CMakePresets|CONTRIBUTING|(bridge|harness|reports)/tests/|harness/python/tests/|reports/published/"
    r"|contracts/(compat|rows|tools)/|bridge/(bench|codegen|example|tools)/|bridge/\."
)


def tracked(clone: Path) -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=clone, capture_output=True, text=True, check=True
    )
    return {name for name in listed.stdout.split("\0") if name}


def difference(found: set[str], expected: set[str]) -> str:
    return "\n".join(
        [f"unexpected: {name}" for name in sorted(found - expected)]
        + [f"missing: {name}" for name in sorted(expected - found)]
    )


def test_the_sdist_is_what_a_build_needs(clone: Path, sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        found = {member.name.partition("/")[2] for member in archive if member.isfile()}
    expected = {name for name in tracked(clone) if not NOT_IN_SDIST.match(name)}
    assert not difference(found, expected | {"PKG-INFO"})


def test_the_wheel_is_what_a_run_needs(clone: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if not name.endswith("/")}
    expected = set(COMPILED)
    for name in tracked(clone):
        for pattern, place in CARRIED:
            match = re.fullmatch(pattern, name)
            if match:
                expected.add(match.expand(place))
    info = next(name.partition("/")[0] for name in found if ".dist-info/" in name)
    assert not difference(found, expected | {f"{info}/{name}" for name in METADATA})


def test_no_library_names_a_folder_of_this_machine(wheel: Path, tmp_path: Path) -> None:
    binaries = sorted(name for name in COMPILED if not name.endswith(".json"))
    with zipfile.ZipFile(wheel) as archive:
        for name in binaries:
            archive.extract(name, tmp_path)
    for name in binaries:
        told = subprocess.run(
            ["readelf", "--dynamic", tmp_path / name], capture_output=True, text=True, check=True
        ).stdout
        paths = re.findall(r"R(?:UN)?PATH.*\[(.*)\]", told)
        assert paths == (["$ORIGIN/../torch/lib"] if name.endswith("_C.so") else []), name
