// Sorting and searching for the table of pairs; without this script the table is just a table.
"use strict";
(() => {
  const box = document.getElementById("pairs-table");
  const controls = document.getElementById("pairs-controls");
  if (!box || !controls) return;
  const body = box.tBodies[0];
  const rows = Array.from(body.rows);
  const heads = Array.from(box.tHead.rows[0].cells);
  const search = document.getElementById("pairs-search");
  const filters = Array.from(controls.querySelectorAll("select"));
  const count = document.getElementById("pairs-count");
  const words = rows.map((row) => row.textContent.toLowerCase());

  const show = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, index) => {
      const fits = wanted.every((word) => words[index].includes(word)) &&
        filters.every((one) => !one.value || row.cells[Number(one.dataset.column)].textContent === one.value);
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    count.textContent = `${shown} of ${rows.length} pairs`;
  };

  const number = (cell) => {
    const read = parseFloat(cell.textContent.replace("−", "-"));
    return Number.isNaN(read) ? null : read;
  };

  const sort = (column) => {
    const head = heads[column];
    const down = head.getAttribute("aria-sort") === "ascending" ||
      (head.classList.contains("number") && !head.hasAttribute("aria-sort"));
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const numeric = head.classList.contains("number");
    const keyed = rows.map((row) => {
      const cell = row.cells[column];
      return [numeric ? number(cell) : cell.textContent, row];
    });
    keyed.sort(([a], [b]) => {
      // What is undefined comes last, whichever way the rest runs.
      if (a === null || b === null) return (a === null) - (b === null);
      const order = numeric ? a - b : a.localeCompare(b);
      return down ? -order : order;
    });
    body.append(...keyed.map(([, row]) => row));
  };

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sort(column));
    head.replaceChildren(button);
  });
  search.addEventListener("input", show);
  filters.forEach((one) => one.addEventListener("change", show));
  controls.hidden = false;
  show();
})();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
