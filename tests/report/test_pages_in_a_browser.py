"""The pages in Chromium: nothing sticks out or is cut, tables are sorted and searched, with the keyboard too."""

import numpy as np
import pytest

from jcmspl.evaluation.findings import (
    Bootstrap,
    ClassRow,
    Confusion,
    ConfusionMatrix,
    DatasetSummary,
    Example,
    HitRate,
    Interval,
    ModelSummary,
    Objective,
    Reason,
    SpaceResult,
    Standard,
)
from jcmspl.evaluation.zero_shot_report import Report
from support.browser import needs_chromium, probed

LONG = ["x" * 300, "two words " * 20, "دب قطبي كبير جدا", "<b>bold</b> & \"quoted\" 'names'", "大熊猫", "okapi"]
# Whatever holds a text must be as large as the text, and inside of the window or of a part that scrolls.
PROBE = """
  const inside = e => e.closest(".scroll, .tall, pre, details");
  const name = e => e.tagName + "." + e.className + ": " + e.textContent.trim().slice(0, 40);
  const shown = [...d.querySelectorAll("body *")].filter(e => e.getClientRects().length);
  const box = e => e.getBoundingClientRect();
  const out = shown.filter(e => !inside(e) && (box(e).right > w.innerWidth + 1 || box(e).left < -1));
  const holders = shown.filter(e => e.matches("td, th, h1, h2, h3, p, li, dd, dt, .name, a, button, .tag, .what"));
  const cut = holders.filter(e => {
    const range = d.createRange();
    range.selectNodeContents(e);
    const text = range.getBoundingClientRect(), own = box(e);
    return text.width > own.width + 2 || text.height > own.height + 4;
  });
  const texts = [...d.querySelectorAll("svg text")].filter(t => {
    const frame = box(t.ownerSVGElement), own = box(t);
    return own.left < frame.left - 1 || own.right > frame.right + 1 ||
      own.top < frame.top - 1 || own.bottom > frame.bottom + 1;
  });
  const table = d.getElementById("table-of-classes"), rows = () => [...table.tBodies[0].rows];
  const column = i => rows().map(r => r.cells[i].dataset.v ?? r.cells[i].textContent);
  const tables = [...d.querySelectorAll("table")].filter(t => box(t).right > w.innerWidth + 1).length;
  const found = {tables, scrolls: d.documentElement.scrollWidth > w.innerWidth, out: out.map(name), cut: cut.map(name),
    texts: texts.map(t => t.textContent), ran: d.documentElement.classList.contains("scripted"),
    pictures: [...d.images].every(i => i.complete && i.naturalWidth), empty: [...d.querySelectorAll("svg")].filter(
      e => box(e).height < 50).length, before: column(0)};
  const heads = [...table.tHead.rows[0].cells], button = i => heads[i].querySelector("button");
  button(1).focus();
  found.focused = d.activeElement === button(1);
  const states = i => { button(i).click(); return [heads[i].getAttribute("aria-sort"), column(i)]; };
  found.shares = [states(1), states(1)];
  found.names = [states(0), states(0)];
  found.sorted = heads.filter(h => h.hasAttribute("aria-sort")).length;
  const input = d.querySelector(".find input"), told = d.querySelector(".find output");
  const search = text => {
    input.value = text;
    input.dispatchEvent(new w.Event("input"));
    return [rows().filter(r => !r.hidden).map(r => r.cells[0].textContent), told.textContent];
  };
  found.search = [search("CLASS 1 unseen"), search("no such thing"), search("")];
  found.labelled = !d.querySelector(".find").hidden && input.labels.length === 1;
  return found;
"""


def report_of(n_classes, picture=None):
    """Return a report of made-up figures, whose first names are hard to set."""
    rng = np.random.default_rng(0)
    labels = [*LONG[:n_classes], *(f"class {i}" for i in range(n_classes - len(LONG)))]
    counts = rng.poisson(3 / n_classes, (n_classes, n_classes)) + np.diag(rng.integers(1, 21, n_classes))
    shares = np.diag(counts) / counts.sum(axis=1)
    rows = [
        ClassRow(label, "unseen", int(n), float(share), float(share / 2))
        for label, n, share in zip(labels, counts.sum(axis=1), shares, strict=True)
    ]
    rows = [*sorted(rows, key=lambda row: -row.standard), ClassRow("class seen", "seen", 5, None, 0.8)]
    one = Standard(0.5, 0.6, {1: HitRate(0.5, 0.6), 5: HitRate(0.9, 0.95)})
    ends = {name: Interval(0.4, 0.7) for name in ("per_class", "per_class_difference")}
    reasons = [Reason(name, 0.1) for name in LONG[:3]]
    examples = [
        Example(row, LONG[row % 6], LONG[0], LONG[row % 6], picture, LONG[1], reasons, reasons) for row in range(12)
    ]
    return Report(
        DatasetSummary(LONG[0], LONG[1], 8, 4, 5, n_classes, {"trainval": 9, "test_seen": 2, "test_unseen": 3}, 0.1),
        ModelSummary("JCMSPL", {"alpha": 1.0}, 4, 3),
        [SpaceResult(space, one, None, intervals=ends) for space in ("visual", "semantic", "concept")],
        rows,
        [Confusion(LONG[0], LONG[1], 3, 0.2), Confusion("a", LONG[2], 3, 0.2)],
        ConfusionMatrix(labels, counts.tolist()),
        Objective([3e9, 2e9, 1.9e9], True),
        {"fit": 1.0, "evaluation": 1.0},
        {"jcmspl": "0"},
        Bootstrap(0.95, 2000, 0),
        examples,
    )


SIZES = [(3, 390), (10, 390), (10, 1300), (50, 820), (200, 390), (200, 1300)]
PAPER = 688  # the width of a sheet (A4) within its margins


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    from PIL import Image

    path = tmp_path_factory.mktemp("picture") / "x.png"
    Image.new("RGB", (300, 900), "navy").save(path)
    return {n: report_of(n, str(path)) for n in {n for n, _ in SIZES}}


@pytest.fixture(scope="module")
def found(reports, tmp_path_factory):
    pages = {(n, width): (reports[n].to_html(), width) for n, width in SIZES}
    printed = (
        reports[50].to_html().replace("@media print {", "@media all {").replace("(min-width: 78rem)", "(width: 0)")
    )
    pages["printed"] = (printed, PAPER)
    return dict(zip(pages, probed(pages.values(), PROBE, tmp_path_factory.mktemp("pages")), strict=True))


@needs_chromium
@pytest.mark.parametrize("size", SIZES)
def test_nothing_sticks_out_or_is_cut(found, size):
    one = found[size]
    assert not one["scrolls"]
    assert one["out"] == one["cut"] == one["texts"] == []
    assert one["empty"] == 0
    assert one["pictures"]


@needs_chromium
def test_print(found):
    """On paper nothing can be scrolled."""
    assert found["printed"]["tables"] == 0
    assert found["printed"]["out"] == found["printed"]["cut"] == found["printed"]["texts"] == []


@needs_chromium
@pytest.mark.parametrize("size", SIZES)
def test_sorting(found, reports, size):
    one = found[size]
    assert one["ran"]  # the browser took the script for ours
    assert one["focused"]  # headers are buttons
    shares = sorted((row.standard for row in reports[size[0]].classes if row.standard is not None), reverse=True)
    down, up = one["shares"]
    assert [down[0], up[0]] == ["descending", "ascending"]
    assert [float(share) for share in down[1][:-1]] == shares
    assert [float(share) for share in up[1][:-1]] == shares[::-1]
    assert down[1][-1] == up[1][-1] == ""  # the seen class has none, and comes last either way
    ascending, descending = one["names"]
    assert (ascending[0], descending[0]) == ("ascending", "descending")
    assert ascending[1] == descending[1][::-1]
    numbers = [int(name.split()[1]) for name in ascending[1] if name[-1].isdigit()]
    assert numbers == sorted(numbers)  # 9 before 10
    assert one["sorted"] == 1


@needs_chromium
@pytest.mark.parametrize("size", SIZES)
def test_search(found, size):
    one, n = found[size], size[0]
    (names, told), nothing, everything = one["search"]
    # the words may be anywhere in a row: in its name, or in what it was taken for
    assert {f"class {i}" for i in range(n - 6) if str(i).startswith("1")} <= set(names)
    assert "class seen" not in names
    assert told == f"{len(names)} of {n + 1}"
    assert nothing == [[], f"0 of {n + 1}"]
    assert (len(everything[0]), everything[1]) == (n + 1, "")
    assert one["labelled"]


def test_without_a_script_all_is_there(reports):
    """The table is whole and sorted as it is written, and what does not work is not shown."""
    page = reports[50].to_html().split("<script>")[0]
    assert page.count('class="bar n"') == 51
    assert 'class="find" data-table="table-of-classes" hidden' in page
    assert "<button" not in page
