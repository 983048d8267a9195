(function () {
  "use strict";
  var all = function (selector, place) { return Array.from((place || document).querySelectorAll(selector)); };

  // The table of cases follows the address: #area=rc/responder&verdict=FAIL&rule=...&text=...
  var form = document.getElementById("filter");
  if (form) {
    var rows = all("tr.case");
    var fields = Array.from(form.elements).filter(function (field) { return field.name; });
    var value = function (field) { return field.type === "checkbox" && !field.checked ? "" : field.value.trim(); };
    var fits = function (row, field) {
      var wanted = value(field);
      if (!wanted) { return true; }
      if (field.name === "text") {
        return (row.textContent + " " + (row.dataset.rule || "")).toLowerCase().includes(wanted.toLowerCase());
      }
      return (row.dataset[field.name] || "").split(" ").includes(wanted);
    };
    var apply = function () {
      var shown = rows.filter(function (row) {
        row.hidden = !fields.every(function (field) { return fits(row, field); });
        return !row.hidden;
      }).length;
      all(".cases tbody").forEach(function (group) {
        group.hidden = !all("tr.case", group).some(function (row) { return !row.hidden; });
      });
      form.querySelector("[role=status]").textContent = shown + " of " + rows.length + " shown";
    };
    var read = function (jump) {
      var hash = location.hash.slice(1);
      if (!hash.includes("=")) { return; }
      var wanted = new URLSearchParams(hash);
      fields.forEach(function (field) {
        var text = wanted.get(field.name) || "";
        if (field.type === "checkbox") { field.checked = text === field.value; } else { field.value = text; }
      });
      apply();
      if (jump) { document.getElementById("cases").scrollIntoView(); }
    };
    var write = function () {
      var wanted = new URLSearchParams();
      fields.forEach(function (field) { if (value(field)) { wanted.set(field.name, value(field)); } });
      history.replaceState(null, "", "#" + (wanted.toString() || "cases"));
      apply();
    };
    form.hidden = false;
    form.addEventListener("input", write);
    form.addEventListener("reset", function () { setTimeout(write); });
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    window.addEventListener("hashchange", function () { read(true); });
    apply();
    read(true);
  }

  // A link to a packet opens it.
  var open = function () {
    var place = location.hash.startsWith("#frame-") && document.getElementById(location.hash.slice(1));
    if (place && place.tagName === "DETAILS") { place.open = true; place.scrollIntoView(); }
  };
  window.addEventListener("hashchange", open);
  open();

  // Bytes tell their field, fields show their bytes: under the mouse, and with the arrow keys.
  all(".bytes").forEach(function (bytes) {
    var told = bytes.querySelector(".told");
    var runs = all(".run", bytes);
    var light = function (part) {
      all(".lit", bytes).forEach(function (lit) { lit.classList.remove("lit"); });
      var lit = all('[data-part="' + part + '"]', bytes);
      lit.forEach(function (one) { one.classList.add("lit"); });
      told.textContent = lit.filter(function (one) { return one.tagName === "TR"; }).map(function (row) {
        return row.cells[0].textContent + " " + row.cells[1].textContent;
      }).join(", ");
    };
    var at = function (event) {
      var place = event.target.closest("[data-part]");
      if (place) { light(place.dataset.part); }
    };
    bytes.addEventListener("mouseover", at);
    bytes.addEventListener("focusin", at);
    runs.forEach(function (run, index) {
      run.tabIndex = index ? -1 : 0;
      run.addEventListener("keydown", function (event) {
        var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        var next = step && runs[index + step];
        if (next) { event.preventDefault(); run.tabIndex = -1; next.tabIndex = 0; next.focus(); }
      });
    });
  });

  all("[data-copy]").forEach(function (button) {
    if (!navigator.clipboard) { return; }
    button.hidden = false;
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(button.dataset.copy).then(function () { button.textContent = "Copied"; });
    });
  });
})();
