// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
// The theme puts the button of each listing into a landmark without a name; it is none. A listing that
// is wider than its place is scrolled by keys, too.
"use strict";
new MutationObserver(function () {
  for (const one of document.querySelectorAll("nav.md-code__nav:not([role])")) {
    one.setAttribute("role", "none");
  }
}).observe(document.documentElement, { childList: true, subtree: true });
addEventListener("load", function () {
  for (const one of document.querySelectorAll("pre > code")) {
    if (one.scrollWidth > one.clientWidth) one.setAttribute("tabindex", "0");
  }
});
