(function () {
  "use strict";
  // A click on the head of a column sorts by it: largest numbers first, words from A on; a second click turns it round.
  const value = (row, column) => row.cells[column].dataset.value;
  const compare = (a, b, column) => {
    const [left, right] = [value(a, column), value(b, column)];
    if (left !== undefined && right !== undefined) { return Number(right) - Number(left); }
    return a.cells[column].textContent.localeCompare(b.cells[column].textContent, "en", { numeric: true });
  };
  document.querySelectorAll("table[data-sortable]").forEach((table) => {
    const body = table.tBodies[0];
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const rows = Array.from(body.rows);
        const isNumber = rows.length > 0 && value(rows[0], column) !== undefined;
        const first = isNumber ? "descending" : "ascending";
        const second = isNumber ? "ascending" : "descending";
        const order = head.getAttribute("aria-sort") === first ? second : first;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        const sign = order === first ? 1 : -1;
        rows.sort((a, b) => sign * compare(a, b, column)).forEach((row) => body.append(row));
      });
    });
  });
})();
