// Shows the claims of one verdict alone, and all of them again, in each group of claims.
"use strict";
for (const group of document.querySelectorAll(".claims")) {
  const buttons = [...group.querySelectorAll("[data-verdict]")];
  const bodies = [...group.querySelectorAll(".ledger tbody")];
  let chosen = null;

  const update = () => {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.verdict === chosen));
    for (const body of bodies) {
      const rows = [...body.querySelectorAll("tr:not(.group)")];
      for (const row of rows) row.hidden = chosen !== null && !row.classList.contains(chosen);
      body.hidden = rows.every((row) => row.hidden);
    }
  };

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
}
