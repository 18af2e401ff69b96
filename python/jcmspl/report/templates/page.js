// Tables can be sorted by any column and searched; without this script they are as they were written.
(() => {
  const order = new Intl.Collator(undefined, {numeric: true, sensitivity: "base"});
  const plain = text => text.normalize("NFKC").toLowerCase();
  document.documentElement.classList.add("scripted");
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    const sort = (number, down) => {
      const numeric = heads[number].classList.contains("n");
      const value = row => {
        const cell = row.cells[number], text = (cell.dataset.v ?? cell.textContent).trim();
        return numeric ? parseFloat(text.replaceAll(",", "")) : text;
      };
      const rows = [...body.rows].map(row => [value(row), row]);
      rows.sort(([a], [b]) => {
        const [none, other] = [a, b].map(one => one === "" || Number.isNaN(one));
        if (none || other) return none - other;  // what is missing comes last, whichever way
        return (down ? -1 : 1) * (numeric ? a - b : order.compare(a, b));
      });
      body.append(...rows.map(([, row]) => row));
      for (const head of heads) head.removeAttribute("aria-sort");
      heads[number].setAttribute("aria-sort", down ? "descending" : "ascending");
    };
    heads.forEach((head, number) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.title = "sort by this column";
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        sort(number, now ? now === "ascending" : head.classList.contains("n"));
      });
      head.append(button);
    });
  }
  for (const find of document.querySelectorAll(".find")) {
    const rows = [...document.getElementById(find.dataset.table).tBodies[0].rows];
    const texts = rows.map(row => plain(row.textContent));
    const input = find.querySelector("input"), told = find.querySelector("output");
    const show = () => {
      const words = plain(input.value).split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        row.hidden = !words.every(word => texts[i].includes(word));
        shown += !row.hidden;
      });
      told.textContent = words.length ? `${shown} of ${rows.length}` : "";
    };
    input.addEventListener("input", show);
    find.hidden = false;
    show();
  }
})();
