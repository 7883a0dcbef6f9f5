# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Names for what is without one, for those who hear a page: the theme's dialog, the parts of the
navigation that have a page of their own, whose labels are icons alone; and corners of tables."""

from __future__ import annotations

import re

DIALOG = '<div class="md-search" data-md-component="search" role="dialog">'
_LABEL = re.compile(r'<label\b[^>]*\bid="(__nav_[\d_]+)_label"[^>]*>(.*?)</label>', re.DOTALL)
_TITLE = re.compile(
    r'<label class="md-nav__title" for="(__nav_[\d_]+)">\s*<span[^>]*></span>\s*([^<]+?)\s*<'
)
_TAG = re.compile(r"<[^>]*>")
_CORNER = re.compile(r"<th( [^>]*)?></th>")


def named(page: str) -> str:
    """Returns the page of the site with these names."""
    page = page.replace(DIALOG, f'{DIALOG[:-1]} aria-label="Search">')
    titles = dict(_TITLE.findall(page))
    for place, inside in _LABEL.findall(page):
        if not _TAG.sub("", inside).strip() and place in titles:
            nameless = f'aria-labelledby="{place}_label"'
            page = page.replace(nameless, f'aria-label="{titles[place]}"')
    return _CORNER.sub(r"<td\1></td>", page)  # a head without words is the head of nothing
