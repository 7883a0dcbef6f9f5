# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""What there is to say about a judged run, worked out once for all renderers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from . import text
from .causes import causes
from .clauses import areas, need_words, reasons
from .extent import Extent, drivers, extent, selected_words
from .facts import moment
from .litmus import ordering_of_tests
from .model import Judged, as_count
from .operators import operators
from .profile import share
from .words import (
    ADVICE,
    DEVICE_ADVICE,
    DEVICE_ERROR_WORDS,
    ERROR_WORDS,
    SIMULATED,
    state_words,
)


class View:
    """A judged run with everything worked out that a reader wants to know first."""

    def __init__(self, judged: Judged) -> None:
        self.judged = judged
        self.counts = judged.counts
        self.failing = tuple(test for test in judged.tests if test.failed)
        self.causes = causes(self.failing, among=judged.tests)
        if self.health:  # then what all else stands on is where to look
            self.causes = tuple(sorted(self.causes, key=lambda one: one.first.profile != "core"))
        self.warnings = causes((test for test in judged.tests if test.warns), name="warning")
        self.areas = areas(judged.tests)
        self.not_tested = reasons(
            (test for test in judged.tests if test.verdict == "unsupported"), need_words
        )
        self.not_shown = reasons(
            (test for test in judged.tests if test.state == "not-shown"),
            lambda test: test.evidence_reason or "no reason was given",
        )
        self.trivial = reasons(
            (test for test in judged.tests if test.state == "trivial"),
            lambda test: test.evidence_reason or "the device could not have shown the fault",
        )
        self.left_out = tuple(test for test in judged.tests if test.verdict == "left-out")
        self.waived = tuple(test for test in judged.tests if test.verdict == "xfail")
        self.known = reasons(self.waived, lambda test: test.waiver or "known")
        self.operators = operators(judged.tests, judged.trace)
        self.share = share(judged)
        self.ordering = ordering_of_tests(judged.tests)
        self.notes = tuple(test for test in judged.tests if test.notes)

    @property
    def total(self) -> int:
        return len(self.judged.tests)

    @cached_property
    def health(self) -> str:
        """Returns what the probe of the device said where it did not compute; empty where it
        did.
        """
        said = text.line(str(self.judged.footer.get("health") or ""), 300)
        return said if said != "ok" else ""

    @property
    def unsound_from_the_start(self) -> bool:
        """Then all that fails may follow from that one thing."""
        return self.health.startswith("not sound before the first test")

    @cached_property
    def name(self) -> str:
        return text.line(self.judged.backend_name, 80)

    @cached_property
    def version(self) -> str:
        return text.line(self.judged.backend_version, 60)

    @cached_property
    def title_name(self) -> str:
        """Name and version; a simulated device is never named without saying so."""
        said = " (simulated)" if self.extent.simulated else ""
        return f"{self.name} {self.version}".strip() + said

    @cached_property
    def order_words(self) -> str:
        """Returns what litmus programs say of order, or why they say nothing; empty where the run
        was not asked for them."""
        if self.ordering is not None and (self.ordering.edges or self.ordering.findings):
            return f"{self.ordering.headline}, by {self.ordering.extent_words}"
        if self.ordering is not None:
            return "litmus programs showed nothing of the order of work"
        of_c = self.extent.layers != ("torch",) and not self.limited_to
        return "no litmus programs were run, which tbk run does" if of_c and self.total else ""

    @property
    def drivers(self) -> list[str]:
        return drivers(self.judged.header)

    @cached_property
    def started(self) -> str:
        return moment(self.judged.header.get("started"))

    @cached_property
    def limited_to(self) -> str:
        """In words, when the run covers only a part of the suite."""
        return ", ".join(selected_words(self.judged.header))

    @cached_property
    def extent(self) -> Extent:
        return extent(self.judged)

    @property
    def word(self) -> str:
        """Returns the verdict in one word: a pass of a part of the tier has a word of its own."""
        if self.judged.verdict == "pass":
            return "partial" if self.extent.partial else "pass"
        return self.judged.verdict if self.judged.verdict == "fail" else "error"

    @property
    def stamp(self) -> str:
        """Returns the word, and of what it is the verdict: "PASS (quick)"."""
        simulated = ", simulated" * self.extent.simulated
        if self.word == "error":
            return f"ERROR{simulated}"
        said = self.extent.tier + simulated if self.word == "partial" else self.extent.words
        return f"{self.word.upper()} ({said})"

    @cached_property
    def partial_words(self) -> str:
        """Returns what the run did not record of its tier; empty where it is complete."""
        return "; ".join(self.extent.missing)

    @property
    def simulated_words(self) -> str:
        """Returns what the run cannot have shown of hardware; empty where it ran on hardware."""
        return SIMULATED if self.extent.simulated else ""

    @cached_property
    def unverified(self) -> tuple[str, ...]:
        """Returns what the backend says that it relies on and nobody has shown."""
        backend = self.judged.header.get("backend")
        said = backend.get("unverified") if isinstance(backend, dict) else None
        return tuple(text.line(str(one)) for one in said[:32]) if isinstance(said, list) else ()

    @cached_property
    def duration(self) -> str:
        """From start to end."""
        spent = as_count(self.judged.footer.get("duration_ns"))
        return text.time_words(spent) if spent else ""

    @cached_property
    def left_out_words(self) -> str:
        """Returns what the budget left out; empty where it left out nothing."""
        if not self.left_out:
            return ""
        suites = tuple(dict.fromkeys(test.suite for test in self.left_out))
        clauses = {test.clause for test in self.left_out}
        more = ", …" if len(suites) > 6 else ""
        return (
            f"the budget left out {text.count_words(len(self.left_out), 'test')} of "
            f"{text.count_words(len(clauses), 'clause')}, in "
            f"{text.line(', '.join(suites[:6]), 160)}{more}"
        )

    @cached_property
    def headline(self) -> str:
        if self.word == "error":
            if self.judged.exit_code == 6:
                return f"The run on {self.title_name} cannot be trusted"
            return f"No verdict on {self.title_name}"
        if self.word == "fail":
            if self.failing:
                return f"{self.title_name} does not conform"
            return "No test fails, and the run does"
        if self.word == "partial":
            return f"{self.title_name} passes the part that was run"
        where = f" in the {self._layer} layer" if self._layer else ""
        how = "conforms" if self.extent.whole else f"passes the {self.extent.tier} tier"
        return f"{self.title_name} {how}{where}"

    @property
    def _layer(self) -> str:
        """Returns the one layer that was run; empty where there were more."""
        layers = self.extent.layers
        return {"c": "C", "torch": "PyTorch"}.get(layers[0], layers[0]) if len(layers) == 1 else ""

    @cached_property
    def lead(self) -> str:
        """Returns one or two sentences below the headline."""
        if self.judged.verdict == "error" and not self.failing:
            words = {**ERROR_WORDS, **(DEVICE_ERROR_WORDS if self._has_no_library else {})}
            why = words.get(self.judged.exit_code, "the run could not be completed")
            return f"{why[0].upper()}{why[1:]}{self._so_far()}."
        if self.failing:
            clauses = {test.clause for test in self.failing if test.level == "must"}
            mandatory = text.count_words(len(clauses), "mandatory clause") + (
                " is violated." if len(clauses) == 1 else " are violated."
            )
            verb = "fails" if len(self.failing) == 1 else "fail"
            failing = f"{len(self.failing):,} of {text.count_words(self.total, 'test')} {verb}"
            least = "at least " if any(cause.following for cause in self.causes) else ""
            cause = least + text.count_words(len(self.causes), "cause")
            return f"{failing}, from {cause}. {mandatory}"
        if self.judged.verdict == "fail":
            return (
                f"No test fails unexpectedly. {self.problems[0] if self.problems else ''}".strip()
            )
        return self._passing_words()

    def _so_far(self) -> str:
        recorded, planned = self.extent.recorded, self.extent.planned
        if not recorded:
            return ""
        if recorded < planned:
            return f", after {recorded:,} of {text.count_words(planned, 'test')}"
        return f", after {text.count_words(recorded, 'test')}"

    def _passing_words(self) -> str:
        passed = self.counts.get("pass", 0)
        words = [f"{passed:,} of {text.count_words(self.total, 'test')} passed."]
        for name, what in (
            ("warning", "showed that a recommendation is not met"),
            ("xfail", "failed as they are known to"),
            ("unsupported", "were not run: the backend does not declare what they need"),
            ("not-shown", "could not show anything on this device"),
            ("left-out", "were left out by the budget"),
        ):
            if count := self.counts.get(name):
                words.append(f"{count:,} {what.replace('were ', 'was ') if count == 1 else what}.")
        end = "Nothing fails in what was run." if self.extent.partial else "Nothing to fix."
        return " ".join(words if self.warnings else [*words, end])

    @property
    def advice(self) -> str:
        """Returns what helps where there is no verdict."""
        words = {**ADVICE, **(DEVICE_ADVICE if self._has_no_library else {})}
        return words.get(self.judged.exit_code, "")

    @property
    def _has_no_library(self) -> bool:
        """Returns whether a device was judged that PyTorch knows by its name, which then stands
        where a library's path does; through the bridge, a library has such a name besides."""
        pytorch, backend = (self.judged.header.get(name) for name in ("torch", "backend"))
        if not isinstance(pytorch, Mapping) or not isinstance(backend, Mapping):
            return False
        return bool(pytorch.get("device")) and backend.get("path") == pytorch["device"]

    @cached_property
    def verdict_line(self) -> str:
        """Returns the one line that a terminal ends with."""
        counted = ", ".join(
            f"{count:,} {state_words(verdict)}" for verdict, count in self.counts.items()
        )
        error = self.word == "error"
        own = f"{self.name}: "  # tbk-run says it, too
        if error and self.problems and not self.total:
            return f"{self.stamp}  {self.title_name}: {self.problems[0].removeprefix(own)}"
        tail = f" ({counted})" if counted else ""
        reason = f": {self.problems[0]}" if error and self.problems else ""
        return (
            f"{self.stamp}  {self.title_name}: {text.count_words(self.total, 'test')}{tail}{reason}"
        )

    @cached_property
    def problems(self) -> tuple[str, ...]:
        return tuple(text.line(problem, 300) for problem in self.judged.problems)
