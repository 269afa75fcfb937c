// Sorting and searching for every searchable table; without this script they are just tables.
"use strict";
document.querySelectorAll(".searchable").forEach((part) => {
  const table = part.querySelector("table");
  const controls = part.querySelector(".controls");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const heads = Array.from(table.tHead.rows[0].cells);
  const search = controls.querySelector("input");
  const filters = Array.from(controls.querySelectorAll("select"));
  const count = controls.querySelector("output");
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
    count.textContent = `${shown} of ${rows.length} rows`;
  };

  const number = (cell) => {
    const read = parseFloat(cell.textContent.replace("−", "-").replace(/[<,]/g, ""));
    return Number.isNaN(read) ? null : read;
  };

  const sort = (column) => {
    const head = heads[column];
    const numeric = head.matches(".number, .range");
    const down = head.getAttribute("aria-sort") === "ascending" ||
      (numeric && !head.hasAttribute("aria-sort"));
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = rows.map((row) => {
      const cell = row.cells[column];
      return [numeric ? number(cell) : cell.textContent, row];
    });
    keyed.sort(([a], [b]) => {
      // What is undefined comes last, whichever way the rest runs.
      if (a === null || b === null) return (a === null) - (b === null);
      const order = numeric ? a - b : a.localeCompare(b, undefined, { numeric: true });
      return down ? -order : order;
    });
    body.append(...keyed.map(([, row]) => row));
  };

  heads.forEach((head, column) => {
    // On a phone the headings are not above their cells.
    rows.forEach((row) => { row.cells[column].dataset.label = head.textContent; });
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
});
