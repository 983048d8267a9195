(function () {
  "use strict";
  // A link to something opens what it lies in, and paper shows all.
  const open = () => {
    const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    let section = place && place.closest("details");
    if (!section) { return; }
    for (; section; section = section.parentNode.closest("details")) { section.open = true; }
    place.scrollIntoView();
  };
  window.addEventListener("hashchange", open);
  open();
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = Array.from(document.querySelectorAll("details:not([open])"));
    closed.forEach((section) => { section.open = true; });
  });
  window.addEventListener("afterprint", () => closed.forEach((section) => { section.open = false; }));

  // A command can be copied.
  if (navigator.clipboard) {
    document.querySelectorAll(".repeat").forEach((repeat) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Copy";
      button.addEventListener("click", () => {
        navigator.clipboard.writeText(repeat.querySelector("code").textContent).then(() => { button.textContent = "Copied"; });
      });
      repeat.append(button);
    });
  }
})();
