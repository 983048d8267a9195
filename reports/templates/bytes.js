// The bytes of a frame with their fields, below the ladder, when a reader follows a link to the frame.
(function () {
  "use strict";
  const packed = document.getElementById("frames");
  if (!packed || !window.DecompressionStream) { return; }
  // As much of a part as was kept; see frames.rs.
  const LONGEST = 64;
  const ROW = 16;

  const make = (name, attributes, ...inside) => {
    const element = document.createElement(name);
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    element.append(...inside);
    return element;
  };

  const unpack = () => {
    const bytes = Uint8Array.from(atob(packed.textContent.trim()), (letter) => letter.charCodeAt(0));
    return new Response(new Response(bytes).body.pipeThrough(new DecompressionStream("deflate-raw"))).json();
  };

  // Sixteen bytes to a row, each with the part that it belongs to.
  const dump = (layout, digits) => {
    const rows = [];
    let used = ROW;
    let from = 0;
    let kept = 0;
    layout.forEach(([, length], part) => {
      const shown = Math.min(length, LONGEST);
      for (let at = 0; at < shown;) {
        if (used === ROW) { rows.push(make("div", {}, make("span", { class: "at" }, from + at))); used = 0; }
        const count = Math.min(shown - at, ROW - used);
        const run = digits.slice(2 * kept, 2 * (kept + count)).replace(/..(?=.)/g, "$& ");
        rows.at(-1).append(make("span", { class: "run", "data-part": part, tabindex: part || at ? -1 : 0 }, run));
        at += count; used += count; kept += count;
      }
      if (length > shown) { rows.at(-1).append(make("span", { class: "more" }, `${length - shown} more bytes`)); used = ROW; }
      from += length;
    });
    return rows;
  };

  const fields = (layout, values) => {
    const table = make("table", { class: "fields" }, make("caption", { class: "unseen" }, "Fields of the frame"));
    const heads = ["Field", "Value", "Bytes"].map((name) => make("th", { scope: "col" }, name));
    table.append(make("thead", {}, make("tr", {}, ...heads)));
    let from = 0;
    let value = 0;
    let body;
    layout.forEach(([layer, length, names], part) => {
      if (!part || layout[part - 1][0] !== layer) {
        body = make("tbody", {}, make("tr", {}, make("th", { scope: "rowgroup", colspan: 3 }, layer)));
        table.append(body);
      }
      const place = length === 1 ? from : `${from}–${from + length - 1}`;
      (names.length ? names : ["bytes"]).forEach((name) => {
        const told = names.length ? values[value++] : "";
        body.append(make("tr", { "data-part": part }, make("th", { scope: "row" }, name), make("td", {}, told), make("td", {}, place)));
      });
      from += length;
    });
    return table;
  };

  // Bytes tell their field, fields show their bytes: under the mouse, and with the arrow keys.
  const tell = (panel, told) => {
    const light = (event) => {
      const place = event.target.closest("[data-part]");
      if (!place) { return; }
      panel.querySelectorAll(".lit").forEach((lit) => lit.classList.remove("lit"));
      const lit = Array.from(panel.querySelectorAll(`[data-part="${place.dataset.part}"]`));
      lit.forEach((one) => one.classList.add("lit"));
      const rows = lit.filter((one) => one.tagName === "TR");
      told.textContent = rows.map((row) => `${row.cells[0].textContent} ${row.cells[1].textContent}`).join(", ");
    };
    panel.addEventListener("mouseover", light);
    panel.addEventListener("focusin", light);
    const runs = Array.from(panel.querySelectorAll(".run"));
    runs.forEach((run, index) => run.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const next = step && runs[index + step];
      if (next) { event.preventDefault(); run.tabIndex = -1; next.tabIndex = 0; next.focus(); }
    }));
  };

  let unpacked;
  const frames = () => unpacked || (unpacked = unpack().then(({ layouts, frames }) => {
    return new Map(frames.map(([name, index, ...frame]) => [name, [layouts[index], ...frame]]));
  }));

  const show = (link, [layout, digits, values, wrong], isAsked) => {
    const figure = link.closest("figure");
    figure.querySelectorAll(".bytes").forEach((old) => old.remove());
    figure.querySelectorAll("[aria-current]").forEach((old) => old.removeAttribute("aria-current"));
    link.setAttribute("aria-current", "true");
    const title = Array.from(link.querySelectorAll("text"), (text) => text.textContent).join(" ");
    const told = make("p", { class: "told", role: "status" });
    const close = make("button", { type: "button" }, "Close");
    const panel = make("section", { class: "bytes", tabindex: -1, "aria-label": `Bytes of frame ${title}` },
      make("div", { class: "title" }, make("h4", {}, title), close),
      make("div", { class: "dump" }, ...wrong.map((text) => make("p", { class: "ill" }, text)), ...dump(layout, digits), told),
      fields(layout, values));
    tell(panel, told);
    const leave = () => { panel.remove(); link.removeAttribute("aria-current"); link.focus(); };
    close.addEventListener("click", leave);
    panel.addEventListener("keydown", (event) => { if (event.key === "Escape") { leave(); } });
    figure.append(panel);
    if (isAsked) {
      panel.classList.add("docked");
      link.scrollIntoView({ block: "center" });
      panel.focus({ preventScroll: true });
    }
  };

  const find = (name, isAsked) => {
    const link = document.getElementById(name);
    if (!link || !link.closest(".ladder")) { return; }
    frames().then((known) => { if (known.has(name)) { show(link, known.get(name), isAsked); } });
  };
  const follow = () => find(decodeURIComponent(location.hash.slice(1)), true);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (link && link.getAttribute("href") === location.hash) { follow(); }
  });
  window.addEventListener("hashchange", follow);
  document.querySelectorAll("[data-broken]").forEach((section) => find(section.dataset.broken, false));
  follow();
})();
