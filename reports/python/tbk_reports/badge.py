# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""A verdict as a badge: an SVG that loads nothing, and JSON for the endpoint of shields.io."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import dataclass

from .conformance import (
    CONFORMANT,
    NO_VERDICT,
    NOT_CONFORMANT,
    ON_SIMULATOR,
    PARTIAL,
    QUICK,
    WITH_WAIVERS,
    Conformance,
)
from .model import Judged
from .view import View

LABEL = "tbk"
# Names that shields knows, and what they are here: white text has a contrast of 4.5 on each.
COLOURS = {"green": "#2f6f1f", "yellow": "#7d5200", "red": "#b32a1c", "grey": "#5a5f66"}
_COLOUR_OF = {
    CONFORMANT: "green", WITH_WAIVERS: "yellow", NOT_CONFORMANT: "red", NO_VERDICT: "grey",
}  # fmt: skip
_FONT = "Verdana,DejaVu Sans,Geneva,sans-serif"
_NARROW, _WIDE = frozenset("fijlrt.,:;|!'() "), frozenset("mwMW")


@dataclass(frozen=True)
class Badge:
    """What a badge says, and its colour."""

    message: str
    colour: str

    def json(self) -> str:
        """Returns what https://shields.io/badges/endpoint-badge reads."""
        said = {
            "schemaVersion": 1,
            "label": LABEL,
            "message": self.message,
            "color": self.colour,
            "isError": self.colour == "red",
        }
        return json.dumps(said, ensure_ascii=True) + "\n"

    def svg(self) -> str:
        """Returns a picture of its own: no font, style or image is loaded."""
        left, right = _width(LABEL) + 12, _width(self.message) + 12
        whole, said = left + right, f"{LABEL}: {self.message}"
        root = ET.Element(
            "svg", xmlns="http://www.w3.org/2000/svg", width=str(whole), height="20", role="img",
            viewBox=f"0 0 {whole} 20",
        )  # fmt: skip
        root.set("aria-label", said)
        ET.SubElement(root, "title").text = said
        for x, width, colour in ((0, left, "#3b3f45"), (left, right, COLOURS[self.colour])):
            ET.SubElement(root, "rect", x=str(x), width=str(width), height="20", fill=colour)
        texts = ET.SubElement(root, "g", fill="#fff")
        texts.set("font-family", _FONT)
        texts.set("font-size", "11")
        texts.set("text-anchor", "middle")
        for middle, words in ((left / 2, LABEL), (left + right / 2, self.message)):
            room = str(_width(words))
            ET.SubElement(texts, "text", x=f"{middle:g}", y="14", textLength=room).text = words
        return ET.tostring(root, encoding="unicode") + "\n"


def _width(words: str) -> int:
    """Returns about how wide a text is in 11 px; `textLength` makes it so in every font."""
    return round(sum(3.9 if one in _NARROW else 9.2 if one in _WIDE else 6.9 for one in words))


def badge_of_run(judged: Judged) -> Badge:
    """Returns the badge of a run. It never says "conformant": that is a statement's word, whose
    suite is known and whose records were checked."""
    view = View(judged)
    if view.word == "error":
        return Badge("no verdict" + ", simulated" * view.extent.simulated, "grey")
    said = {"pass": "passes", "partial": "partial", "fail": "fails"}[view.word]
    words = [said, view.extent.tier]
    words += ["partial"] * (view.extent.partial and view.word == "fail")
    words += ["simulated"] * view.extent.simulated
    clean = view.word == "pass" and not view.waived and not view.extent.simulated
    colour = "red" if view.word == "fail" else "green" if clean else "yellow"
    if view.word == "pass" and view.waived:
        words.append("with waivers")
    return Badge(", ".join(words), colour)


def badge_of_statement(found: Conformance) -> Badge:
    """Returns the badge of a statement that was checked."""
    ran, word = found.extent, found.word
    words = [word]
    if found.good and ran.layers and len(ran.layers) == 1:
        words.append(found.layers.removeprefix("the "))
    if not found.good and word != NO_VERDICT:
        words += [] if word == QUICK else [ran.tier]
        words += ["partial"] * (ran.partial and word != PARTIAL)
    words += ["simulated"] * (ran.simulated and word != ON_SIMULATOR)
    return Badge(", ".join(words), _COLOUR_OF.get(word, "yellow"))
