# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What mkdocs asks while it builds the site: the decisions list themselves."""

from __future__ import annotations

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

sys.path.insert(0, str(Path(__file__).resolve().parent))

import decisions


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the decisions behind their list in the navigation."""
    config.nav = decisions.extend(config.nav, Path(config.docs_dir))
    return config
