(function () {
  "use strict";
  var all = function (selector, root) {
    return Array.prototype.slice.call((root || document).querySelectorAll(selector));
  };

  /* Filters: chips are toggles; several of one kind widen, kinds narrow one another. */
  var controls = document.querySelector(".controls");
  var rows = all("tr.clause");
  if (controls && rows.length) {
    var search = controls.querySelector("input[type=search]");
    var area = controls.querySelector("select");
    var live = controls.querySelector(".live");
    var empty = document.querySelector(".clauses .none");
    var chips = all(".chip", controls);
    var pressed = function (kind) {
      return chips.filter(function (chip) {
        return chip.dataset.kind === kind && chip.getAttribute("aria-pressed") === "true";
      }).map(function (chip) { return chip.dataset.value; });
    };
    var filter = function () {
      var states = pressed("state"), levels = pressed("level");
      var words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      var shown = 0;
      rows.forEach(function (row) {
        var data = row.dataset;
        var fits = (!states.length || states.indexOf(data.state) >= 0) &&
          (!levels.length || levels.indexOf(data.level) >= 0) &&
          (!area.value || data.area === area.value) &&
          words.every(function (word) { return data.text.indexOf(word) >= 0; });
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      });
      all(".clauses tbody.group").forEach(function (body) {
        body.hidden = !body.querySelector("tr.clause:not([hidden])");
      });
      empty.hidden = shown > 0;
      live.textContent = shown + " of " + rows.length + " clauses";
    };
    chips.forEach(function (chip) {
      chip.addEventListener("click", function () {
        chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
        filter();
      });
    });
    search.addEventListener("input", filter);
    area.addEventListener("change", filter);
    controls.querySelector(".reset").addEventListener("click", function () {
      chips.forEach(function (chip) { chip.setAttribute("aria-pressed", "false"); });
      search.value = "";
      area.value = "";
      filter();
    });
    controls.hidden = false;
    filter();
  }

  /* The operators: a name, and ways in which any of their dtypes is served. */
  var opControls = document.querySelector(".op-controls");
  if (opControls) {
    var opRows = all("tr.op");
    var opSearch = opControls.querySelector("input");
    var opChips = all(".chip", opControls);
    var filterOps = function () {
      var word = opSearch.value.toLowerCase().trim();
      var ways = opChips.filter(function (chip) {
        return chip.getAttribute("aria-pressed") === "true";
      }).map(function (chip) { return chip.dataset.value; });
      var shown = 0;
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
    opChips.forEach(function (chip) {
      chip.addEventListener("click", function () {
        chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
        filterOps();
      });
    });
    opSearch.addEventListener("input", filterOps);
    opControls.hidden = false;
    filterOps();
  }

  /* Copy buttons, also where the page is opened as a file. */
  var said = document.getElementById("said");
  var copied = function (button, good) {
    button.textContent = good ? "Copied" : "Not copied";
    if (said) { said.textContent = good ? "Command copied" : "The command could not be copied"; }
    setTimeout(function () { button.textContent = "Copy"; }, 1600);
  };
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
  all(".copy").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      var value = button.parentNode.querySelector("code").textContent;
      if (navigator.clipboard && navigator.clipboard.writeText) {
        navigator.clipboard.writeText(value).then(
          function () { copied(button, true); },
          function () { copied(button, copyOld(value)); button.focus(); });
      } else {
        copied(button, copyOld(value));
        button.focus();
      }
    });
  });

  /* A link to something folded away unfolds it. */
  var unfold = function () {
    var target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    for (var node = target; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") { node.open = true; }
    }
    if (target) { target.scrollIntoView(); }
  };
  window.addEventListener("hashchange", unfold);
  unfold();
}());
