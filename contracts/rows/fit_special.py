#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tbk authors
# SPDX-License-Identifier: BSD-3-Clause
"""Print the polynomials of contracts/spec/operators/special.yml.

Series are Taylor's. What is fitted is the interpolant at Chebyshev's points, written in powers of
u, which goes from -1 to 1: of functions as smooth as these its coefficients fall faster than the
powers of Chebyshev's polynomials grow, so that nothing cancels. Needs mpmath.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import mp  # type: ignore[import-untyped]

mp.dps = 50
Number = Any


def fit(function: Callable[[Number], Number], degree: int) -> list[Number]:
    """Returns the coefficients of the interpolant, of the power 0 first."""
    count = degree + 1
    angles = [mp.pi * (2 * k + 1) / (2 * count) for k in range(count)]
    values = [function(mp.cos(angle)) for angle in angles]
    lower, upper = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    sums = [mp.mpf(0)] * count
    for order in range(count):
        scale = mp.mpf(1 if order == 0 else 2) / count
        weight = scale * mp.fsum(
            value * mp.cos(order * angle) for value, angle in zip(values, angles, strict=True)
        )
        for power, coefficient in enumerate(lower):
            sums[power] += weight * coefficient
        following = [mp.mpf(0)] + [2 * one for one in upper]
        for power, coefficient in enumerate(lower):
            following[power] -= coefficient
        lower, upper = upper, following
    return sums


def far(function: Callable[[Number], Number], start: int) -> Callable[[Number], Number]:
    """Returns a function of u = 2 start / x - 1, for x from `start` on."""
    return lambda u: function(2 * start / (u + 1))


def squared(function: Callable[[Number], Number], end: int) -> Callable[[Number], Number]:
    """Returns a function of u = 2 (x / end)^2 - 1, for x up to `end`."""
    return lambda u: function(end * mp.sqrt((u + 1) / 2))


def root(function: Callable[[Number], Number]) -> Callable[[Number], Number]:
    return lambda x: mp.sqrt(x) * function(x)


def modulation(order: int, quadrature: bool) -> Callable[[Number], Number]:
    """Returns what the cosine or, times x, the sine is multiplied by in Hankel's form."""

    def value(u: Number) -> Number:
        x = 8 / mp.sqrt((u + 1) / 2)
        angle = x - mp.pi * (2 * order + 1) / 4
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        c, s = mp.cos(angle), mp.sin(angle)
        return mp.sqrt(x) * ((y * c - j * s) * x if quadrature else j * c + y * s)

    return value


def y_regular(order: int) -> Callable[[Number], Number]:
    """Returns what is left of Y when its logarithm and its pole are taken away."""

    def value(x: Number) -> Number:
        rest = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
        return rest if order == 0 else (rest + 2 / (mp.pi * x)) / x

    return value


def factorials(order: int, terms: int) -> list[Number]:
    return [1 / (mp.factorial(k) * mp.factorial(k + order)) for k in range(terms)]


def digammas(order: int, terms: int) -> list[Number]:
    shares = factorials(order, terms)
    return [
        (mp.digamma(k + 1) + (mp.digamma(k + 2) if order else 0)) * share
        for k, share in enumerate(shares)
    ]


def erfcx(u: Number) -> Number:
    x = 4 * (1 + u) / (1 - u)
    return (1 + x) * mp.exp(x * x) * mp.erfc(x)


POLYNOMIALS = {
    "i0_near(t)": factorials(0, 25),
    "i1_near(t)": factorials(1, 25),
    "i0_far(u)": fit(far(root(lambda x: mp.besseli(0, x) * mp.exp(-x)), 8), 22),
    "i1_far(u)": fit(far(root(lambda x: mp.besseli(1, x) * mp.exp(-x)), 8), 22),
    "k0_rest(t)": digammas(0, 13),
    "k1_rest(t)": digammas(1, 13),
    "k0_far(u)": fit(far(root(lambda x: mp.besselk(0, x) * mp.exp(x)), 2), 22),
    "k1_far(u)": fit(far(root(lambda x: mp.besselk(1, x) * mp.exp(x)), 2), 22),
    "j0_near(u)": fit(squared(lambda x: mp.besselj(0, x), 8), 17),
    "j1_near(u)": fit(squared(lambda x: mp.besselj(1, x) / x, 8), 17),
    "y0_rest(u)": fit(squared(y_regular(0), 8), 17),
    "y1_rest(u)": fit(squared(y_regular(1), 8), 17),
    "in_phase_0(u)": fit(modulation(0, quadrature=False), 12),
    "in_phase_1(u)": fit(modulation(1, quadrature=False), 12),
    "quadrature_0(u)": fit(modulation(0, quadrature=True), 12),
    "quadrature_1(u)": fit(modulation(1, quadrature=True), 12),
    "erfcx_ratio(u)": fit(erfcx, 25),
}


def horner(coefficients: list[Number], name: str) -> str:
    """Returns c0 + x * (c1 + x * ...), as formulas are written."""
    *inner, last = [repr(float(one)) for one in coefficients]
    return "".join(f"{one} + {name} * (" for one in inner)[:-1] + last + ")" * (len(inner) - 1)


def wrapped(text: str) -> str:
    lines, line = [], "   "
    for word in text.split():
        if len(line) + len(word) > 99:
            lines.append(line)
            line = "   "
        line += f" {word}"
    return "\n".join([*lines, line])


if __name__ == "__main__":
    for signature, coefficients in POLYNOMIALS.items():
        name = signature.partition("(")[2][0]
        print(f"  {signature}: >-\n{wrapped(horner(coefficients, name))}")
