// Shows the claims of one verdict alone, and all of them again.
"use strict";
(() => {
  const buttons = [...document.querySelectorAll("[data-verdict]")];
  const bodies = [...document.querySelectorAll(".ledger tbody")];
  let chosen = null;

  function update() {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.verdict === chosen));
    for (const body of bodies) {
      const rows = [...body.querySelectorAll("tr:not(.group)")];
      for (const row of rows) row.hidden = chosen !== null && !row.classList.contains(chosen);
      body.hidden = rows.every((row) => row.hidden);
    }
  }

  for (const button of buttons) {
    button.addEventListener("click", () => {
      chosen = button.dataset.verdict === chosen ? null : button.dataset.verdict;
      update();
    });
  }
  addEventListener("beforeprint", () => {
    chosen = null; // paper has no buttons
    update();
  });
})();
