# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The listings of a tutorial are run, in their order, in one empty folder.

A listing whose first line is a comment with a path is that file. Shell is run, with the environment
that earlier shell listings left; Python is run as a program. A text listing behind one that was run
is what it prints, at its end.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from page_reader import ROOT, TUTORIALS, Reader, listings

# Their commands start PyTorch or the host's compiler, for minutes in all: the night follows these,
# and the tests of what they show go the same ways, one by one.
LONG = {"custom-operators.md", "torch-device.md", "zero-fallbacks.md"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=[pytest.mark.night] if one in LONG else []) for one in TUTORIALS],
)
def test_every_listing_does_what_the_page_says(name: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    previous = None
    ran = 0
    for listing in listings(ROOT / "docs" / name):
        if listing.language == "text":
            if previous is not None and previous.language in ("sh", "python"):
                assert reader.output.endswith(listing.text), f"line {listing.line}: {reader.output}"
        else:
            reader.follow(listing)
            ran += 1
        previous = listing
    assert ran > 3


# What a driver has, in the skeleton of callbacks: points are numbers, complete or not.
DRIVER = """
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool complete[2001];
void driver_wait(uint64_t point) {
  pthread_mutex_lock(&lock);
  while (!complete[point]) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}
void driver_complete(uint64_t point) {
  pthread_mutex_lock(&lock);
  complete[point] = true;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}
static int ran;
static void count(void* argument) {
  ran += *(int*)argument == ran && complete[2 * ran] && !complete[2 * ran + 1];
}
int main(void) {
  callbacks_t callbacks;
  static int numbers[1000];
  if (!callbacks_start(&callbacks)) return 1;
  for (int i = 0; i < 1000; i++) {
    numbers[i] = i;
    if (!callbacks_add(&callbacks, count, &numbers[i], 2 * i, 2 * i + 1)) return 1;
  }
  for (int i = 0; i < 1000; i++) driver_complete(2 * i);
  callbacks_end(&callbacks);
  for (int i = 0; i < 1000; i++) ran += !complete[2 * i + 1];
  printf("%d\\n", ran);
  return 0;
}
"""


def test_the_skeletons_for_drivers_compile_and_keep_order(tmp_path: Path) -> None:
    found = {one.path: one.text for one in listings(ROOT / "docs" / "first-backend.md") if one.path}
    assert set(found) == {"enter.c", "callbacks.c"}
    strict = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread",
              f"-I{ROOT / 'contracts' / 'include'}"]  # fmt: skip
    for name, text in found.items():
        (tmp_path / name).write_text(text)
        subprocess.run([*strict, "-fsyntax-only", name], cwd=tmp_path, check=True)
    with (tmp_path / "callbacks.c").open("a") as file:
        file.write(DRIVER)
    subprocess.run([*strict, "callbacks.c", "-o", "callbacks"], cwd=tmp_path, check=True)
    ran = subprocess.run([tmp_path / "callbacks"], capture_output=True, text=True, check=True)
    assert ran.stdout == "1000\n"


def test_the_example_of_operators_is_that_of_its_page() -> None:
    found = {one.path: one.text for one in listings(ROOT / "docs" / "custom-operators.md")}
    example = ROOT / "bridge" / "example" / "operators"
    for name in ("acme.yml", "operators.c"):
        assert found[f"acme/{name}"] == (example / name).read_text()
