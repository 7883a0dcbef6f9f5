# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a finding: a lane for the host and each stream, the calls from top to bottom, and
what must happen before what. Each call has a row of its own, so that a line that runs along a row
or between two lanes crosses no other call."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from xml.etree import ElementTree as ET

from .finding import BEGINNING, HOST_ORDER, Finding

LEFT, LANE, GUTTER = 34, 216, 84  # widths: of the numbers, a lane, what is beside it
HEAD, GAP = 40, 30  # heights: of the names of lanes, between rows
PADDING, LINE = 9, 17
WIDE = 27  # characters of a line in a lane
SCREEN = 38  # characters that a phone shows beside the numbers
STEP = 13  # between lines that run side by side
HOST = "host"
LINE_ENDS = 2

Point = tuple[float, float]
_VALUE = re.compile(r"0x[0-9a-f]{2}")


@dataclass
class Box:
    """A call, or the beginning or the end, which span all lanes."""

    call: int
    lane: int | None
    lines: list[str]
    tags: list[str]
    role: str
    top: float = 0

    @property
    def height(self) -> float:
        return 2 * PADDING + LINE * (len(self.lines) + len(self.tags))

    @property
    def middle(self) -> float:
        return self.top + self.height / 2

    @property
    def bottom(self) -> float:
        return self.top + self.height


@dataclass
class Drawing:
    """What is drawn, and how many lines run in each gutter so far."""

    lanes: list[str]
    boxes: dict[int, Box]
    height: float
    used: Counter[int] = field(default_factory=Counter)

    @property
    def width(self) -> float:
        return LEFT + len(self.lanes) * (LANE + GUTTER)

    def left(self, lane: int) -> float:
        return LEFT + lane * (LANE + GUTTER)

    def gutter(self, lane: int) -> float:
        """Returns the next place for a line on the right of a lane."""
        count = self.used[lane]
        self.used[lane] += 1
        aside = (count + 1) // 2 * (1 if count % 2 else -1)  # 0, 1, -1, 2, -2: from the middle out
        return self.left(lane) + LANE + GUTTER / 2 + max(-3, min(3, aside)) * STEP


def _lanes(finding: Finding) -> list[str]:
    """The host's threads first; where no call is theirs, a phone would show an empty lane."""
    names = dict.fromkeys(finding.lanes or (HOST,))
    return sorted(names, key=lambda name: (not name.startswith(HOST), name))


def _role(finding: Finding, call: int) -> tuple[str, list[str]]:
    """Returns what a call has to do with the fault: a word for its looks, and its lines."""
    if call == finding.read:
        if finding.outcome == "wrong":
            return "wrong", ["wrong read:", *textwrap.wrap(finding.seen, WIDE)]
        return "wrong", textwrap.wrap(f"here {finding.words}", WIDE)
    if call == finding.wrote:
        return "saw", [
            "its value was still seen"
            if finding.over is not None
            else "its value was seen too early"
            if finding.chain
            else "its value was seen"
        ]
    if call == finding.over:
        return "over", ["overwrites it before the read"]
    if call in finding.moved:
        return "saw", ["brought the value"]
    return ("wrong", ["disagrees with the other"]) if call == finding.other else ("", [])


def _box(finding: Finding, call: int, lanes: Sequence[str]) -> Box:
    role, tags = _role(finding, call)
    is_call = 0 <= call < len(finding.calls)
    lines = textwrap.wrap(finding.name(call), WIDE) if is_call else [finding.name(call)]
    if not is_call and role == "wrong":
        tags = textwrap.wrap(" ".join(tags), SCREEN)
    return Box(call, lanes.index(finding.lanes[call]) if is_call else None, lines, tags, role)


def _named(finding: Finding) -> set[int | None]:
    ends = {end for link in finding.chain for end in (link.before, link.after)}
    return {finding.read, finding.wrote, finding.over, finding.other, *finding.moved, *ends}


def layout(finding: Finding) -> Drawing:
    """Places every call, and the beginning and the end where something is said of them."""
    lanes, named = _lanes(finding), _named(finding)
    count = len(finding.calls)
    rows = [BEGINNING] if BEGINNING in named else []
    rows += range(count)
    rows += [count] if count in named else []
    drawing, top = Drawing(lanes, {}, 0), float(HEAD)
    for call in rows:
        box = _box(finding, call, lanes)
        box.top = top
        drawing.boxes[call] = box
        top += box.height + GAP
    drawing.height = top - GAP + 6
    return drawing


# ------------------------------------------------------------------------------------- lines


def _is_next(drawing: Drawing, before: Box, after: Box) -> bool:
    """Returns whether nothing stands between two boxes of one lane."""
    between = range(before.call + 1, after.call)
    return not any(drawing.boxes[call].lane == before.lane for call in between)


def route(drawing: Drawing, before: Box, after: Box) -> list[Point]:
    """Returns the corners of a line: out to the gutter, along it, and along the row of its end."""
    if before.lane is None and after.lane is None:
        x = drawing.gutter(0)
        return [(x, before.bottom), (x, after.top)]
    if before.lane == after.lane and before.call < after.call and _is_next(drawing, before, after):
        x = drawing.left(before.lane or 0) + LANE / 2
        return [(x, before.bottom), (x, after.top)]
    lane = _beside(before, after)
    x = drawing.gutter(lane)
    return [*_out(drawing, before, x, after), *reversed(_out(drawing, after, x, before))]


def _beside(before: Box, after: Box) -> int:
    """Returns the lane on whose right the line runs: next to where it begins, on the way."""
    first = (after.lane if before.lane is None else before.lane) or 0
    second = first if after.lane is None else after.lane
    return first if second >= first else first - 1


def _out(drawing: Drawing, box: Box, x: float, other: Box) -> list[Point]:
    """Returns the way from a box to the gutter at x."""
    if box.lane is None:
        return [(x, box.bottom if other.top > box.top else box.top)]
    left = drawing.left(box.lane)
    return [(left + LANE if x > left else left, box.middle), (x, box.middle)]


def _arrow(corners: Sequence[Point]) -> str:
    """Returns the corners of an arrowhead at the end of a line."""
    (x, y), (end_x, end_y) = corners[-2], corners[-1]
    length = max(abs(end_x - x) + abs(end_y - y), 1e-9)
    along, across = ((end_x - x) / length, (end_y - y) / length), 4.5
    back = (end_x - along[0] * 9, end_y - along[1] * 9)
    sides = [
        (back[0] - along[1] * across, back[1] + along[0] * across),
        (back[0] + along[1] * across, back[1] - along[0] * across),
    ]
    return " ".join(f"{one:g},{two:g}" for one, two in [(end_x, end_y), *sides])


def _longest(corners: Sequence[Point]) -> Point:
    """Returns the middle of the longest piece that runs down or up."""
    pairs = [(first, second) for first, second in pairwise(corners) if first[0] == second[0]]
    (x, top), (_, bottom) = max(pairs, key=lambda pair: abs(pair[1][1] - pair[0][1]))
    return x, (top + bottom) / 2


def _line(parent: ET.Element, corners: Sequence[Point], looks: str, label: str) -> ET.Element:
    group = ET.SubElement(parent, "g", {"class": looks})
    points = " ".join(f"{x:g},{y:g}" for x, y in corners)
    ET.SubElement(group, "polyline", {"points": points})
    ET.SubElement(group, "polygon", {"points": _arrow(corners)})
    x, y = _longest(corners)
    if len(corners) == LINE_ENDS:  # between two rows there is no room on the line
        _text(group, x + 8, y + 3, label, "label aside")
    else:
        _text(group, x, y + 4, label, "label")
    return group


# -------------------------------------------------------------------------------------- drawing


def _text(parent: ET.Element, x: float, y: float, words: str, looks: str) -> None:
    made = ET.SubElement(parent, "text", {"x": f"{x:g}", "y": f"{y:g}", "class": looks})
    made.text = words


def _draw_lane(root: ET.Element, drawing: Drawing, lane: int) -> None:
    group = ET.SubElement(root, "g", {"class": "lane", "data-lane": drawing.lanes[lane]})
    middle = drawing.left(lane) + LANE / 2
    name = drawing.lanes[lane]
    words = name if name.startswith(HOST) else f"stream {name}"
    _text(group, middle, HEAD / 2 + 2, words, "name")
    ends = {"x1": f"{middle:g}", "x2": f"{middle:g}", "y1": f"{HEAD - 8}"}
    ET.SubElement(group, "line", {**ends, "y2": f"{drawing.height:g}"})


def _draw_box(root: ET.Element, drawing: Drawing, box: Box) -> None:
    looks = f"call {box.role}".strip()
    group = ET.SubElement(root, "g", {"class": looks, "data-call": str(box.call)})
    left = drawing.left(box.lane or 0)
    width = LANE if box.lane is not None else drawing.width - LEFT - 4
    place = {"x": f"{left:g}", "y": f"{box.top:g}", "width": f"{width:g}"}
    ET.SubElement(group, "rect", {**place, "height": f"{box.height:g}", "rx": "6"})
    if box.lane is not None:
        _text(group, LEFT - 12, box.top + PADDING + 12, str(box.call + 1), "number")
    for at, words in enumerate((*box.lines, *box.tags)):
        kind = "tag" if at >= len(box.lines) else "words"
        _text(group, left + 10, box.top + PADDING + 12 + at * LINE, words, kind)


def _draw_chain(root: ET.Element, finding: Finding, drawing: Drawing) -> None:
    seen = set()
    for link in finding.chain:
        key = (link.before, link.after, link.clause)
        # What is complete when its call returns is one call, and one box.
        if link.before == link.after or key in seen:
            continue
        seen.add(key)
        ends = drawing.boxes[link.before], drawing.boxes[link.after]
        looks = "edge of-host" if link.kind == HOST_ORDER else "edge"
        group = _line(root, route(drawing, *ends), looks, link.clause)
        ET.SubElement(group, "title").text = link.words


def _draw_value(root: ET.Element, finding: Finding, drawing: Drawing) -> None:
    """The way of the value that was seen, from its write over copies to the read."""
    if finding.wrote is None or finding.read is None:
        return
    found = _VALUE.search(finding.seen)
    stops = [finding.wrote, *finding.moved, finding.read]
    for first, second in _pairs(stops):
        corners = route(drawing, drawing.boxes[first], drawing.boxes[second])
        _line(root, corners, "value", found[0] if found else "seen")


def _pairs(stops: Sequence[int]) -> Iterator[tuple[int, int]]:
    for first, second in pairwise(stops):
        if first != second:
            yield first, second


def alternative(finding: Finding) -> str:
    """Returns the picture in words, for who cannot see it."""
    calls = "; ".join(
        f"{number} in {lane}: {call}"
        for number, (call, lane) in enumerate(zip(finding.calls, finding.lanes, strict=True), 1)
    )
    order = "; ".join(
        f"{finding.name(link.before)} before {finding.name(link.after)} by {link.clause}"
        for link in finding.chain
    )
    parts = (
        f"Calls: {calls}",
        order and f"Order: {order}",
        finding.seen and f"Seen: {finding.seen}",
    )
    return ". ".join(part for part in parts if part)


def draw(finding: Finding) -> str:
    """Returns the picture as an SVG element, whose colours are those of the page's style."""
    drawing = layout(finding)
    size = {"width": f"{drawing.width:g}", "height": f"{drawing.height:g}"}
    box = f"0 0 {drawing.width:g} {drawing.height:g}"
    root = ET.Element(
        "svg", {"class": "lanes", **size, "viewBox": box, "role": "img",
                "aria-label": alternative(finding)},
    )  # fmt: skip
    for lane in range(len(drawing.lanes)):
        _draw_lane(root, drawing, lane)
    for one in drawing.boxes.values():
        _draw_box(root, drawing, one)
    _draw_chain(root, finding, drawing)
    _draw_value(root, finding, drawing)
    return ET.tostring(root, encoding="unicode")
