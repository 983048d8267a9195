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
      return (row.dataset[field.name] || row.parentNode.dataset[field.name] || "").split(" ").includes(wanted);
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
})();
