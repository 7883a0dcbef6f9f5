# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The commands of pages that are no tutorials are run, with less to do where they take long.

Tutorials are followed word by word in test_pages.py. Here each line of shell is a command of its
own. A page is followed in a folder that has what it speaks of: a library, a device, results, a key.
Pages most of whose commands start PyTorch, or judge a whole layer, are followed at night.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from page_reader import (
    BUILD,
    PAGES,
    ROOT,
    TUTORIALS,
    Listing,
    environment,
    lines_of_shell,
    listings,
)

LIMIT_S = 300


@dataclass(frozen=True)
class Elsewhere:
    """Names commands that are not run here, by what they have, and says why."""

    found: str
    why: str
    page: str = ""  # where it is of one alone


@dataclass(frozen=True)
class Instead:
    """Replaces a part of a command, so that it takes little, and says why that is the same."""

    found: str
    instead: str
    why: str


@dataclass(frozen=True)
class Command:
    page: str
    line: int  # of its listing
    text: str


ELSEWHERE = (
    Elsewhere(r"^ci/(demo|test)\b", "they run this test"),
    Elsewhere(r"^ci/(gallery|hardware)\b", "test_gallery.py and test_hardware.py"),
    Elsewhere(r"^ci/tbk.sh baseline", "test_init_whole.py runs that script whole"),
    Elsewhere(r"^pip install 'torch-backend-kit\[farm\]'", "no index has the package yet"),
    Elsewhere(r"^pip install", "ci/packaging"),
    Elsewhere(r"^ray start|--farm", "test_farm.py and test_farm_litmus.py, which end their nodes"),
    Elsewhere(r"_TBK_COMPLETE=(zsh|fish)", "shells that need not be here"),
    Elsewhere(r"--device (cuda|npu)\b", "needs the device"),
    Elsewhere(r"/opt/acme", "needs a driver"),
    Elsewhere(r"--require callback", "the reader's backend has streams by then"),
    Elsewhere(r"--tsan|libtsan|TSAN_OPTIONS|--only sweep_race", "ci/test sanitize-thread"),
    Elsewhere(r"^python -c ", "needs the gallery's devices", page="gallery.md"),
    Elsewhere(r"^export PATH", "it is on the path"),
)
SHORTER = (
    Instead(r"^\.venv/bin/", "", "it is on the path"),
    Instead(r'(?<=load\(")path/to', "sdk/acme/build", "the device that is called acme"),
    Instead(r"path/to/", "", "it is in the folder"),
    Instead(r"build/lib/", f"{BUILD}/lib/", "the build is elsewhere"),
    Instead(r"PYTHONPATH=bridge", f"PYTHONPATH={ROOT}/bridge", "the checkout is elsewhere"),
    Instead(r"--time 60$", "--time 2", "a search that goes on"),
    Instead(r"--time 10m", "--programs 40", "a search that goes on"),
    Instead(r"(?<=^tbk litmus )(?!.*--(time|programs))", "--programs 40 ", "a search that goes on"),
    Instead(r"(?<=^tbk run )(?!.*--(only|layer|profile))", "--only CPY-004 ", "a part of it"),
    Instead(r"(?<=^tbk run )(?=.*(--profile|--only memory))", "--layer c ", "a part of it"),
    Instead(r"(?<=^tbk-run )(?=.*driver=)", "--only CPY-004 ", "a part of it"),
    Instead(r"(?<=^tbk check )", "--only OPS-510 ", "a part of it"),
    Instead(r"(?=--torch-library)", "--only GEN-501 ", "a part of it"),
    Instead(r"log=1", "scheduler=caller", "a key that this library understands"),
    Instead(r"^(?=.*--shard auto)", "CI_NODE_INDEX=1 CI_NODE_TOTAL=2 ", "as in a job of GitLab"),
    Instead(
        r"\./libacme_gate\.so", "bridge", "one that holds: the page's is the reader's to write"
    ),
    Instead(r"^minisign", "minisign -S -s acme.key -m SHA256SUMS && minisign", "ssh-keygen signed"),
    Instead(r'"alloc a 4096 s0.*"', '"alloc a 4096 s0; free a"', "the page leaves the rest out"),
)
# These commands are there to say no; all others end with 0.
ENDS = {
    r"^tbk verify .*--conformant": (1, "what was run for it is a part"),
    r"--import acme --gate": (4, "a device of one queue tells no handle of a stream"),
    r"TBK_TORCH_MUTANT": (1, "the page shows a device with a fault"),
}


def texts(listing: Listing) -> Iterator[str]:
    """Gives each line of shell, each step of a workflow, and a program as a whole."""
    if listing.language == "sh":
        yield from lines_of_shell(listing)
    elif listing.language == "yaml":
        yield from (str(step.get("run", "")) for step in yaml.safe_load(listing.text))
    elif listing.language == "python":
        yield f"python -c {shlex.quote(listing.text)}"


def commands(page: Path) -> Iterator[Command]:
    """Gives what a reader would type, without comments."""
    for listing in listings(page):
        for line in texts(listing):
            text = re.sub(r"(^|\s+)# .*$", "", line).strip()
            if text:
                yield Command(page.name, listing.line, text)


def all_commands() -> list[Command]:
    return [one for page in PAGES if page.name not in TUTORIALS for one in commands(page)]


def is_elsewhere(command: Command) -> bool:
    mine = [one for one in ELSEWHERE if one.page in ("", command.page)]
    return any(re.search(one.found, command.text) for one in mine)


def shorter(text: str) -> str:
    for rule in SHORTER:
        text = re.sub(rule.found, rule.instead, text)
    return text


TRAIN = """import torch
(torch.ones(2, 3) @ torch.ones(3, 2)).sum()
"""
GATE = """
static int32_t close_gate(int32_t device, void* stream, char* message) {
  return device + (stream != message);
}
static int32_t open_gate(char* message) { return message == 0; }
"""


class Terminal:
    """Commands are typed one after the other, each in the folder in which the last one ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.here = folder
        self.environment = {
            **environment(BUILD / "bin"),
            "PYTHONPATH": str(folder),
            "HOME": str(folder),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        }

    def type(self, text: str) -> tuple[int, str]:
        """Returns the exit code, and what was said."""
        where = self.folder / ".here"
        ran = subprocess.run(
            ["bash", "-e", "-c", f'{text}\npwd >"{where}"'], cwd=self.here, env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S,
            check=False,
        )  # fmt: skip
        if ran.returncode == 0:
            self.here = Path(where.read_text().strip())
        return ran.returncode, ran.stdout

    def need(self, *texts: str) -> None:
        for text in texts:
            code, said = self.type(text)
            assert code == 0, f"{text}: exit code {code}\n{said}"


without_build = shutil.ignore_patterns("build")
RESULTS = "tbk-report/results.jsonl"


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes what pages speak of: a library, a device and a project, acme; results, keys, a gate."""
    folder = tmp_path_factory.mktemp("acme")
    terminal = Terminal(folder)
    for name in ("sdk", "nightly", "site", ".ssh"):
        (folder / name).mkdir()
    shutil.copy(BUILD / "lib" / "libtbk_cpu.so", folder / "libacme.so")
    terminal.need(
        "cd sdk && tbk new acme && cmake -S acme -B acme/build && cmake --build acme/build"
    )
    terminal.here = folder
    library = folder / "sdk" / "acme" / "build" / "libacme.so"
    for name in ("torch_acme", "acme", "acme_torch"):
        text = f"import torch_tbk\n\ntorch_tbk.load({str(library)!r})\n"
        (folder / "sdk" / f"{name}.py").write_text(text)
    shutil.copytree(folder / "sdk" / "acme", folder, dirs_exist_ok=True, ignore=without_build)
    (folder / "train.py").write_text(TRAIN)
    (folder / "waivers.toml").touch()
    gate = next(one.text for one in listings(ROOT / "docs" / "gate.md") if one.language == "c")
    (folder / "acme_gate.c").write_text(f"#include <tbk/gate.h>\n\n{gate}{GATE}")
    part = "tbk run ./libacme.so --layer c --only memory"
    terminal.need(
        *(f"{part} --shard {n}/2 --report-dir parts/{n}" for n in (1, 2)),
        *(f"cp parts/{n}/results.jsonl shard-{n}.jsonl" for n in (1, 2)),
        part,
        f"cp {RESULTS} before.jsonl; cp {RESULTS} after.jsonl; cp {RESULTS} old.jsonl",
        f"cp {RESULTS} nightly/1.jsonl; cp {RESULTS} nightly/2.jsonl",
        "ssh-keygen -q -t ed25519 -N '' -C alice@acme.com -f .ssh/id_ed25519",
        "(printf 'alice@acme.com namespaces=\"tbk\" '; cat .ssh/id_ed25519.pub) > allowed_signers",
        "minisign -G -W -p acme.pub -s acme.key",
    )
    return folder


# Each takes more than ten times as long as the others.
LONG = frozenset(
    f"{name}.md"
    for name in (
        "checking-a-device",
        "conformance-statement",
        "gate",
        "kill-matrix-torch",
        "litmus",
        "profiles",
        "running",
        "tracing",
    )
)


def pages_with_commands() -> list[object]:
    pages = dict.fromkeys(one.page for one in all_commands() if not is_elsewhere(one))
    return [pytest.param(one, marks=pytest.mark.night) if one in LONG else one for one in pages]


@pytest.mark.parametrize("page", pages_with_commands())
def test_the_commands_of_a_page_do_what_they_say(
    page: str, furnished: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "reader"
    shutil.copytree(furnished, folder)
    terminal = Terminal(folder)
    terminal.environment["PYTHONPATH"] = str(furnished / "sdk")
    for one in all_commands():
        if one.page == page and not is_elsewhere(one):
            text = shorter(one.text)
            code, said = terminal.type(text)
            assert code == expected(one.text), f"line {one.line}: {text}: exit code {code}\n{said}"


def expected(text: str) -> int:
    return next((code for found, (code, _) in ENDS.items() if re.search(found, text)), 0)


def test_every_rule_is_of_a_command() -> None:
    texts = [one.text for one in all_commands()]
    for found in [*(one.found for one in ELSEWHERE), *(one.found for one in SHORTER), *ENDS]:
        assert any(re.search(found, text) for text in texts), found


def prompts(listing: Listing) -> Iterator[tuple[str, str]]:
    """Gives each command behind a prompt, and what the page says that it prints."""
    for part in re.split(r"^\$ ", listing.text, flags=re.MULTILINE)[1:]:
        command, _, said = part.partition("\n")
        yield command, said


def test_what_stands_behind_a_prompt_is_printed(tmp_path: Path) -> None:
    shown = [one for page in PAGES for one in listings(page) if one.language == "console"]
    pairs = [pair for listing in shown for pair in prompts(listing)]
    assert pairs
    terminal = Terminal(tmp_path)
    terminal.need(f"cd {ROOT}")
    for command, said in pairs:
        assert terminal.type(command)[1] == said, command
