# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What mkdocs asks while it builds the site: pages made from what they describe, and links."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import c_pages  # noqa: E402
import command_pages  # noqa: E402
import exit_pages  # noqa: E402
import names  # noqa: E402
import navigation  # noqa: E402
import program_pages  # noqa: E402
import schema_page  # noqa: E402

ROOT = HERE.parents[1]
CONTRACTS = ROOT / "contracts"
CLAUSES = "reference/clauses.md"
CLAUSE = re.compile(r"(<a\b[^>]*>)?<code>([A-Z]{3}-\d{3})</code>")
NAME = re.compile(r"`(\w+)`")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the pages that are made, and the decisions, behind those that list them."""
    parts = {path: text for path, text in c_pages.pages(CONTRACTS).items() if path != c_pages.INDEX}
    behind = {
        navigation.DECISIONS: navigation.decisions(Path(config.docs_dir)),
        c_pages.INDEX: navigation.headings(parts),
        command_pages.INDEX: navigation.headings(
            {**command_pages.pages(), **program_pages.pages()}
        ),
        exit_pages.INDEX: navigation.headings(exit_pages.pages()),
    }
    config.nav = navigation.extend(config.nav, behind)
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds the pages that are made: they are no files, and so never stale."""
    schema = (ROOT / "harness" / "schema" / "results.schema.json").read_text("utf-8")
    made = {
        **c_pages.pages(CONTRACTS),
        **command_pages.pages(),
        **program_pages.pages(),
        **exit_pages.pages(),
        schema_page.PATH: schema_page.page(json.loads(schema)),
        schema_page.FILE: schema,
    }
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Links clauses to the functions that state them, exit codes to their pages, and decisions."""
    if page.file.src_uri == exit_pages.INDEX:
        return exit_pages.linked(markdown)
    if page.file.src_uri == navigation.DECISIONS:
        return navigation.listed(markdown, ROOT / "docs")
    if page.file.src_uri != CLAUSES:
        return markdown
    places = c_pages.places(CONTRACTS)

    def link(found: re.Match[str]) -> str:
        place = places.get(found[1], "").removeprefix("reference/")
        return f"[{found[0]}]({place})" if place else found[0]

    lines = markdown.split("\n")
    return "\n".join(NAME.sub(link, one) if one.startswith("| <a id=") else one for one in lines)


def on_page_content(html: str, *, page: Page, files: Files, **_: object) -> str:
    """Links each clause that a page names as code to its row."""
    clauses = files.get_file_from_path(CLAUSES)
    if clauses is None:
        raise LookupError(f"no page {CLAUSES}")
    known = set(re.findall(r'<a id="(\w{3}-\d{3})">', clauses.content_string))
    address = get_relative_url(clauses.url, page.url)

    def link(found: re.Match[str]) -> str:
        anchor = found[2].lower()
        linked = f'<a href="{address}#{anchor}"><code>{found[2]}</code></a>'
        return found[0] if found[1] or anchor not in known else linked

    return CLAUSE.sub(link, html)


def on_post_page(output: str, **_: object) -> str:
    """Names what the theme leaves without a name."""
    return names.named(output)
