# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from invoke import Tbk
from tbk_harness.skeleton import SkeletonError, check_name, make


@pytest.mark.parametrize(
    "name",
    ["", "Acme", "9acme", "_acme", "ac-me", "ac me", "a" * 32, "cpu", "cuda", "privateuse1", "meta",
     "template", "tbk", "all", "../up", "acme\n", "é"],
)  # fmt: skip
def test_names_that_cannot_be(name: str, tmp_path: Path) -> None:
    with pytest.raises(SkeletonError):
        make(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_names_that_can_be() -> None:
    for name in ("a", "acme", "npu", "a_b", "a" * 31):
        check_name(name)


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "other").symlink_to("nowhere")
    for name in ("acme", "other"):
        with pytest.raises(SkeletonError, match="there already"):
            make(name, tmp_path)
    assert not list((tmp_path / "acme").iterdir())


def test_no_trace_of_the_template_is_left_in_the_code(tmp_path: Path) -> None:
    folder = make("acme", tmp_path)
    for path in (folder / "acme.c", folder / "CMakeLists.txt"):
        assert "template" not in path.read_text("utf-8")
    assert '.name = "acme"' in (folder / "acme.c").read_text("utf-8")


def test_one_compiler_call_builds_it(tmp_path: Path) -> None:
    folder = make("acme", tmp_path)
    subprocess.run(
        ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden",
         "-Iinclude", "acme.c", "-o", "libacme.so", "-pthread"],
        cwd=folder, check=True,
    )  # fmt: skip
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", "libacme.so"], cwd=folder, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    assert [row.split()[-1] for row in symbols.stdout.splitlines()] == ["tbk_backend_create"]


@pytest.mark.parametrize("kernels", [(), ("--kernels", "generic"), ("--kernels", "named")])
def test_the_commands_that_tbk_new_prints_work(
    tbk: Tbk, tmp_path: Path, kernels: tuple[str, ...]
) -> None:
    ended = tbk("new", "acme", *kernels)
    assert ended.returncode == 0, ended.stderr
    assert "cmake -S . -B build && cmake --build build" in ended.stdout
    for command in ("cmake -S . -B build", "cmake --build build"):
        subprocess.run(
            command.split(), cwd=tmp_path / "acme", check=True, stdout=subprocess.DEVNULL
        )
    assert (tmp_path / "acme" / "build" / "libacme.so").is_file()
    assert tbk("new", "acme").returncode == 2
    assert tbk("new", "cuda").returncode == 2


def test_kernels_are_there_only_where_they_are_wanted(tmp_path: Path) -> None:
    plain = make("plain", tmp_path)
    assert not (plain / "kernels.c").exists()
    assert not (plain / "emit").exists()
    folder = make("acme", tmp_path, "generic")
    for path in (folder / "kernels.c", folder / "kernels.h", folder / "acme.c"):
        text = path.read_text("utf-8")
        assert "template" not in text
        assert "TEMPLATE" not in text
    assert not (folder / "emit" / "tests").exists()
