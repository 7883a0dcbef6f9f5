(function () {
  "use strict";
  var all = function (selector, root) {
    return Array.prototype.slice.call((root || document).querySelectorAll(selector));
  };
  var make = function (tag, className, words) {
    var made = document.createElement(tag);
    if (className) { made.className = className; }
    if (words) { made.textContent = words; }
    return made;
  };
  var place = document.getElementById("tbk-data");
  var data = place ? JSON.parse(place.textContent) : {};

  /* Every test of the run by its anchor and its clause; made when it is first asked for. */
  var anchorOf = function (id) {
    var plain = id.replace(/[^!-~]|["'<>&`%#]/gu, "_").slice(0, 200), hash = 0x811c9dc5;
    if (plain === id) { return "t-" + plain; }
    for (var at = 0; at < id.length; at += 1) {
      hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193) >>> 0;
    }
    return "t-" + plain + "~" + hash.toString(16);
  };
  var index = function () {
    var known = { byAnchor: {}, byClause: {}, causes: {} };
    Object.keys(data.causes || {}).forEach(function (cause) {
      data.causes[cause].forEach(function (at) { known.causes[data.tests[at][0]] = cause; });
    });
    (data.tests || []).forEach(function (test) {
      var anchor = anchorOf(test[0]);
      var entry = known.byAnchor[anchor];
      if (!entry) {
        entry = { anchor: anchor, id: test[0], clause: test[2], verdict: test[3], runs: 0 };
        known.byAnchor[anchor] = entry;
        (known.byClause[test[2]] = known.byClause[test[2]] || []).push(entry);
      }
      entry.runs += 1;
      if (known.causes[test[0]]) { entry.cause = known.causes[test[0]]; }
      if (data.worst.indexOf(test[3]) < data.worst.indexOf(entry.verdict)) {
        entry.verdict = test[3];
      }
    });
    index = function () { return known; };
    return known;
  };

  /* Copying, also where the page is opened as a file. */
  var said = document.getElementById("said");
  var copyOld = function (value) {
    var area = document.createElement("textarea");
    area.value = value;
    document.body.appendChild(area);
    area.select();
    var good = false;
    try { good = document.execCommand("copy"); } catch (error) { good = false; }
    area.remove();
    return good;
  };
  var copy = function (button, value, what) {
    var before = button.dataset.words || button.textContent;
    button.dataset.words = before;
    var told = function (good) {
      button.textContent = good ? "Copied" : "Not copied";
      if (said) { said.textContent = what + (good ? " copied" : " could not be copied"); }
      setTimeout(function () { button.textContent = before; }, 1600);
    };
    if (navigator.clipboard && navigator.clipboard.writeText) {
      navigator.clipboard.writeText(value).then(
        function () { told(true); },
        function () { told(copyOld(value)); button.focus(); });
    } else {
      told(copyOld(value));
      button.focus();
    }
  };
  all(".copy").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      copy(button, button.parentNode.querySelector("code").textContent, "Command");
    });
  });
  var addLink = function (host, anchor) {
    if (!anchor || host.querySelector(".link")) { return; }
    var button = make("button", "link", "Copy link");
    button.type = "button";
    button.addEventListener("click", function () {
      copy(button, location.href.split("#")[0] + "#" + encodeURI(anchor), "Link");
    });
    host.appendChild(button);
  };
  all("article.cause[id]").forEach(function (cause) {
    addLink(cause.querySelector("h3"), cause.id);
  });
  all(".case[id] > h4").forEach(function (head) { addLink(head, head.parentNode.id); });

  /* The address says what is filtered: #clauses?state=fail,crash&q=stream */
  var write = function (name, fields) {
    var words = Object.keys(fields).filter(function (key) { return fields[key]; })
      .map(function (key) { return key + "=" + encodeURIComponent(fields[key]); });
    try {
      history.replaceState(null, "", "#" + name + (words.length ? "?" + words.join("&") : ""));
    } catch (error) { /* not allowed where the page is embedded */ }
  };
  var press = function (chips, values) {
    chips.forEach(function (chip) {
      chip.setAttribute("aria-pressed", String(values.indexOf(chip.dataset.value) >= 0));
    });
  };
  var pressed = function (chips) {
    return chips.filter(function (chip) {
      return chip.getAttribute("aria-pressed") === "true";
    }).map(function (chip) { return chip.dataset.value; });
  };
  var onPress = function (chips, act) {
    chips.forEach(function (chip) {
      chip.addEventListener("click", function () {
        chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
        act();
      });
    });
  };
  var list = function (value) { return (value || "").split(",").filter(Boolean); };

  /* Clauses: values of one kind widen, kinds narrow one another. */
  var areas = all("details.area");
  areas.forEach(function (area) { area.dataset.folded = area.open ? "" : "yes"; });
  var controls = document.querySelector(".controls");
  var clauses = null;
  if (controls && areas.length) {
    var search = controls.querySelector("input[type=search]");
    var select = controls.querySelector("select");
    var empty = document.querySelector(".areas .empty");
    var states = all(".chip[data-kind=state]", controls);
    var levels = all(".chip[data-kind=level]", controls);
    var haystack = function (row) {
      if (!row.tbkText) {
        var names = (index().byClause[row.dataset.clause] || [])
          .map(function (test) { return test.id; });
        row.tbkText = (row.textContent + " " + names.join(" ")).toLowerCase();
      }
      return row.tbkText;
    };
    var filter = function () {
      var of = pressed(states), at = pressed(levels), shown = 0, whole = 0;
      var words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      var active = of.length + at.length + words.length + select.value.length > 0;
      areas.forEach(function (area) {
        var here = 0;
        all("tr.clause", area).forEach(function (row) {
          var fits = (!of.length || of.indexOf(row.dataset.state) >= 0) &&
            (!at.length || at.indexOf(row.dataset.level) >= 0) &&
            (!select.value || area.dataset.area === select.value) &&
            words.every(function (word) { return haystack(row).indexOf(word) >= 0; });
          row.hidden = !fits;
          here += fits ? 1 : 0;
          whole += 1;
        });
        area.hidden = here === 0;
        area.open = active ? here > 0 : !area.dataset.folded;
        shown += here;
      });
      empty.hidden = shown > 0;
      controls.querySelector(".live").textContent = shown + " of " + whole + " clauses";
    };
    clauses = {
      read: function (fields) {
        press(states, list(fields.get("state")));
        press(levels, list(fields.get("level")));
        search.value = fields.get("q") || "";
        select.value = fields.get("area") || "";
        filter();
      },
      act: function () {
        filter();
        write("clauses", { state: pressed(states).join(","), level: pressed(levels).join(","),
          area: select.value, q: search.value.trim() });
      }
    };
    onPress(states.concat(levels), clauses.act);
    search.addEventListener("input", clauses.act);
    select.addEventListener("change", clauses.act);
    controls.querySelector(".reset").addEventListener("click", function () {
      clauses.read(new URLSearchParams(""));
      write("clauses", {});
    });
    controls.hidden = false;
    filter();
  }

  /* The operators: a name, and ways in which any of their dtypes is served. */
  var opControls = document.querySelector(".op-controls");
  var operators = null;
  if (opControls) {
    var opRows = all("tr.op");
    var opSearch = opControls.querySelector("input");
    var opChips = all(".chip", opControls);
    var filterOps = function () {
      var word = opSearch.value.toLowerCase().trim(), ways = pressed(opChips), shown = 0;
      opRows.forEach(function (row) {
        var cells = row.dataset.cells;
        var fits = row.dataset.operator.toLowerCase().indexOf(word) >= 0 &&
          (!ways.length || ways.some(function (way) {
            return cells.indexOf(way === "fails" ? "!" : ":" + way) >= 0;
          }));
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      });
      opControls.querySelector(".live").textContent = shown + " of " + opRows.length;
    };
    operators = {
      read: function (fields) {
        press(opChips, list(fields.get("way")));
        opSearch.value = fields.get("q") || "";
        document.getElementById("operator-table").open = true;
        filterOps();
      },
      act: function () {
        filterOps();
        write("operators", { way: pressed(opChips).join(","), q: opSearch.value.trim() });
      }
    };
    onPress(opChips, operators.act);
    opSearch.addEventListener("input", operators.act);
    opControls.hidden = false;
    filterOps();
  }

  /* What a row of a clause has no room for: all of its tests, from the data of the page. */
  var entryOf = function (test) {
    var item = make("li"), tone = make("span", data.tones[test.verdict] || "bad");
    var icon = document.querySelector(".clauses svg.icon").cloneNode(true);
    icon.firstChild.setAttribute("href", "#i-" + test.verdict);
    tone.appendChild(icon);
    tone.appendChild(make("span", "visually-hidden", test.verdict + ": "));
    item.appendChild(tone);
    var link = make("a", "", test.id.slice(test.id.indexOf("/") + 1));
    link.href = "#" + test.anchor;
    if (!document.getElementById(test.anchor)) { link.id = test.anchor; }
    item.appendChild(link);
    if (test.runs > 1) { item.appendChild(document.createTextNode(" × " + test.runs)); }
    if (test.cause) {
      var why = make("a", "", "cause " + test.cause.replace(/^\D+/, ""));
      why.href = "#" + test.cause;
      item.appendChild(why);
    }
    return item;
  };
  var fill = function (row) {
    var further = row.querySelector("details.further");
    if (!further || further.dataset.filled) { return; }
    further.dataset.filled = "yes";
    var there = all(".tests > ul a", row).map(function (link) {
      return decodeURIComponent(link.getAttribute("href").slice(1));
    });
    var names = make("ul");
    (index().byClause[row.dataset.clause] || []).filter(function (test) {
      return there.indexOf(test.anchor) < 0;
    }).sort(function (one, other) {
      return data.worst.indexOf(one.verdict) - data.worst.indexOf(other.verdict);
    }).forEach(function (test) { names.appendChild(entryOf(test)); });
    further.replaceChild(names, further.querySelector("p"));
  };
  all("details.further").forEach(function (further) {
    further.addEventListener("toggle", function () {
      if (further.open) { fill(further.closest("tr")); }
    });
  });
  var linkRows = function (area) {
    if (area.open && !area.dataset.linked) {
      area.dataset.linked = "yes";
      all("tr.clause[id] > th", area).forEach(function (head) { addLink(head, head.parentNode.id); });
    }
  };
  areas.forEach(function (area) {
    area.addEventListener("toggle", function () { linkRows(area); });
    linkRows(area);
  });

  /* A link to something folded away, filtered away or not yet listed shows it. */
  var find = function (anchor) {
    var target = document.getElementById(anchor);
    var test = !target && anchor.indexOf("t-") === 0 && index().byAnchor[anchor];
    if (!test) { return target; }
    var row = all("tr.clause").filter(function (one) {
      return one.dataset.clause === test.clause;
    })[0];
    if (row) { fill(row); }
    return document.getElementById(anchor);
  };
  var show = function (anchor) {
    var target = find(anchor);
    if (!target) { return; }
    if (clauses && target.closest("[hidden]")) { clauses.read(new URLSearchParams("")); }
    for (var node = target; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") { node.open = true; }
    }
    all(".found").forEach(function (one) { one.classList.remove("found"); });
    if (/^(t-|cause-|warning-|[A-Z]{3}-)/.test(anchor)) { target.classList.add("found"); }
    target.scrollIntoView();
  };
  var route = function () {
    var raw = location.hash.slice(1), at = raw.indexOf("?"), name = raw;
    try { name = decodeURIComponent(raw); } catch (error) { name = raw; }
    var filters = at > 0 && { clauses: clauses, operators: operators }[raw.slice(0, at)];
    if (filters) {
      filters.read(new URLSearchParams(raw.slice(at + 1)));
      document.getElementById(raw.slice(0, at)).scrollIntoView();
    } else if (name) {
      show(name);
    }
  };
  window.addEventListener("hashchange", route);
  route();
}());
