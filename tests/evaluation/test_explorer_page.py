"""Explorer pages in a browser: they compute what the model does, and can be used."""

import warnings
from functools import cache

import numpy as np
from numpy.testing import assert_allclose

from jcmspl import JCMSPL, ClassTable, explore
from jcmspl.cli.demo import _accuracies, _page
from jcmspl.datasets import Dataset, load_digits
from jcmspl.datasets.digits import PIXEL_SETTINGS
from jcmspl.methods import ESZSL, GDA, RidgeVS, SynC, TextPrototypes
from support.animals import make_zoo
from support.browser import browse, needs_chromium
from support.pen import DIGITS, DRAW

pytestmark = needs_chromium

SET = """
const get = (id) => document.getElementById(id), text = (id) => get(id).textContent;
const set = (id, value, event = "input") => {
  get(id).value = value;
  get(id).dispatchEvent(new window.Event(event, { bubbles: true }));
};
const describe = (vector) => {
  set("order", "given", "change");
  get("more-sliders").click();
  vector.forEach((value, j) => set(`attribute-${j}`, value));
};
const all = (selector) => [...document.querySelectorAll(selector)];
const shown = (selector) => all(selector).filter((one) => !one.hidden).length;
"""


def dataset_of(zoo, table=None, name="zoo"):
    """Return animals as a data set: the first samples of each seen class for training, the others for testing."""
    X, y = np.vstack([zoo.X, zoo.X_new]), np.concatenate([zoo.y, zoo.y_new])
    seen = np.isin(y, zoo.seen)
    tested = np.arange(len(y)) % 3 == 0
    parts = {
        "train": np.flatnonzero(seen & ~tested),
        "test_seen": np.flatnonzero(seen & tested),
        "test_unseen": np.flatnonzero(~seen),
    }
    return Dataset(name, X, y, zoo.table if table is None else table, parts)


def fitted(model, dataset):
    X, y = dataset.part("trainval")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.set_params(progress=False).fit(X, y, class_vectors=dataset.classes)


ZOO = dataset_of(make_zoo(n_seen=8, rectified=True))
ALIGNED = dataset_of(make_zoo(n_seen=8, n_attributes=20, aligned=True))
JOINED = dataset_of(
    make_zoo(n_seen=8),
    ClassTable.joined(
        look=ClassTable(ZOO.classes.labels, ZOO.classes.vectors[:, :5]),
        text=ClassTable(ZOO.classes.labels, ZOO.classes.vectors[:, 5:]),
    ),
)
MODELS = [
    (JCMSPL(), ZOO),  # roots, length one, centred, whitened; visual space, cosine
    (JCMSPL(**PIXEL_SETTINGS), ZOO),
    (JCMSPL(space="concept", metric="euclidean", feature_normalisation="center+whiten"), ZOO),
    (JCMSPL(space="visual", metric="euclidean", class_normalisation="zscore", n_concepts=20), ZOO),
    (JCMSPL(space="visual", metric="dot", feature_normalisation="power+zscore", class_normalisation="none"), ZOO),
    (JCMSPL(seen_mean_share=0.5, space="visual"), ZOO),
    (JCMSPL(source_shares=(0.8, 0.2)), JOINED),
    (RidgeVS(feature_normalisation="none", class_normalisation="feature_l2"), ZOO),
    (ESZSL(), ZOO),
    (GDA(class_kernel="linear"), ZOO),
    (TextPrototypes(), ALIGNED),
]


def test_scores_are_those_of_the_model(tmp_path):
    """Of all classes, of a made-up one among them, and of the unseen ones alone, to the precision of float32."""
    pages, vectors, wanted = [], [], []
    for model, dataset in MODELS:
        fitted(model, dataset).set_params(seen_penalty=0.125)
        page, rng = explore(model, dataset, n_samples=12), np.random.default_rng(0)
        made_up = rng.dirichlet(np.ones(dataset.classes.n_classes)) @ dataset.classes.vectors
        X, new = dataset.X[page.rows], {"my class": made_up}
        among = [*page.labels, "my class"]
        wanted.append(
            [
                model.decision_function(X, candidates=page.labels),
                model.decision_function(X, candidates=among, class_vectors=new),
                model.decision_function(X, candidates=[*dataset.unseen, "my class"], class_vectors=new),
                model.decision_function(X, candidates="unseen"),
            ]
        )
        pages.append(page.to_html())
        vectors.append(made_up.tolist())
    script = """
      const every = () => [...Array(12).keys()].map((i) => window.explorer.scores(i));
      const found = [every()];
      describe(given);
      found.push(every());
      document.querySelector("input[value=unseen]").click();
      found.push(every());
      get("is-on").click();
      found.push(every());
      return found;"""
    for found, expected, (model, _) in zip(browse(tmp_path, pages, SET + script, vectors), wanted, MODELS, strict=True):
        for scores, right in zip(found, expected, strict=True):
            assert_allclose(scores, right, rtol=0, atol=3e-6 * np.abs(right).max(), err_msg=repr(model))


def test_a_slider_takes_samples(tmp_path):
    """The page names samples as the model does, with a class that it has never heard of."""
    noisy = dataset_of(make_zoo(n_seen=8, noise=1.5))
    model = fitted(RidgeVS(), noisy)
    page = explore(model, noisy, n_samples=60)
    X, unseen = noisy.X[page.rows], noisy.unseen[0]

    def named_with(vector):
        new = {"okapi": vector}
        return model.predict(X, candidates=[*page.labels, "okapi"], class_vectors=new, seen_penalty=0.0).tolist()

    tried = [(j, noisy.classes.vectors[:, j].min()) for j in range(noisy.classes.n_attributes)]
    vectors = [np.where(np.arange(noisy.classes.n_attributes) == j, value, noisy.classes[unseen]) for j, value in tried]
    taken, named, (moved, value) = max(
        (n.count("okapi"), n, t) for n, t in zip(map(named_with, vectors), tried, strict=True)
    )
    assert 0 < taken < 60
    script = """
      const of = () => ({ named: window.explorer.named(), takes: text("takes"), listed: shown("#list li"),
        stars: shown("#list .taken"), buttons: shown("#taken button"), losses: shown("#losses li") });
      set("from", given.from, "change");
      set("made-name", "okapi");
      const before = of();
      get("is-on").click();
      const same = of();
      set(`attribute-${given.moved}`, given.value);
      const after = of();
      set("which", "taken", "change");
      const filtered = of();
      get("made-reset").click();
      const reset = of();
      set("mixed", given.other, "change");
      set("mix", 0.5);
      const mixed = of();
      return { before, same, after, filtered, reset, mixed };"""
    given = {"from": page.labels.index(unseen), "moved": moved, "value": value, "other": 0}
    (found,) = browse(tmp_path, [page.to_html()], SET + script, [given])
    plain = model.predict(X, candidates="all", seen_penalty=0.0).tolist()
    assert found["before"]["named"] == found["same"]["named"] == found["reset"]["named"] == plain
    assert "Move a slider" in found["before"]["takes"]
    assert found["same"]["takes"].startswith(f"is {unseen} to the last value")
    assert found["after"]["named"] == named
    half = (noisy.classes[unseen] + noisy.classes[page.labels[0]]) / 2
    assert found["mixed"]["named"] == named_with(half)
    assert found["after"]["takes"] == f"takes {taken} of 60 samples"
    assert found["after"]["stars"] == found["filtered"]["listed"] == taken
    assert found["after"]["losses"] == len({was for was, now in zip(plain, named, strict=True) if now == "okapi"})
    assert found["after"]["buttons"] == min(taken, 12)


def test_attributes_that_matter_come_first(tmp_path):
    """By what moving one through its range would do to the score of the chosen sample."""
    zoo = make_zoo(n_seen=8, n_attributes=60)
    dataset = dataset_of(zoo)
    model = fitted(JCMSPL(space="visual"), dataset)
    page = explore(model, dataset, n_samples=20)
    script = """
      window.explorer.choose(7);
      const first = all("#sliders input").map((one) => Number(one.id.split("-")[1]));
      const hints = all("#sliders label small").map((one) => one.textContent);
      get("more-sliders").click();
      const more = shown("#sliders li");
      set("find", "trait 4");
      const found = shown("#sliders li");
      set("find", "nothing like it");
      return { first, hints, more, found, none: shown("#sliders li"), says: get("no-sliders").hidden };"""
    (found,) = browse(tmp_path, [page.to_html()], SET + script)
    start, step = dataset.classes[dataset.unseen[0]], 1e-4
    ranges = np.ptp(dataset.classes.vectors, axis=0)
    steps = np.diag(step * ranges)
    classes = {f"{j} {sign}": start + sign * steps[j] for j in range(60) for sign in (1, -1)}
    scores = model.decision_function(dataset.X[page.rows[7:8]], class_vectors=classes)[0]
    effects = (scores[0::2] - scores[1::2]) / (2 * step)
    order = np.argsort(-np.abs(effects))
    assert found["first"] == order[:12].tolist()
    assert found["hints"] == ["▲" if effects[j] > 0 else "▼" for j in order[:12]]
    assert (found["more"], found["found"], found["none"], found["says"]) == (36, 15, 0, False)


def test_choosing_samples(tmp_path):
    model = fitted(JCMSPL(), ZOO)
    page = explore(model, ZOO, n_samples=30)
    row = int(page.rows[4])
    script = """
      const title = () => text("sample-title"), key = (name, node) =>
        node.dispatchEvent(new window.KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
      const found = [title()];
      key("ArrowRight", document.body); found.push(title());
      key("p", document.body); found.push(title());
      key("ArrowUp", get("list")); found.push(title());
      key("Home", get("list")); found.push(title());
      get("next").click(); found.push(title());
      key("n", get("search")); found.push(title());
      set("search", `row ${given.row}`);
      get("next").click(); found.push(title());
      set("search", "");
      set("of", given.class, "change");
      const ofClass = shown("#list li");
      set("search", "no such thing");
      return { found, ofClass, none: shown("#list li"), nothing: get("nothing").hidden,
        selected: all("[aria-selected=true]").length, truth: text("truth"), bars: shown("#scores li") };"""
    given = {"row": row, "class": page.labels.index(ZOO.y[row])}
    (found,) = browse(tmp_path, [page.to_html()], SET + script, [given])
    rows = [page.rows[i] for i in (0, 1, 0, 29, 0, 1, 1, 4)]
    assert found["found"] == [f"Sample in row {row}" for row in rows]
    assert found["ofClass"] == sum(ZOO.y[page.rows] == ZOO.y[row])
    assert (found["none"], found["nothing"], found["selected"], found["bars"]) == (0, False, 1, 11)
    assert ZOO.y[row] in found["truth"]


def test_reasons_are_those_of_explain(tmp_path):
    """Attributes, and the samples of classes, by their parts in the difference of two scores."""
    models = [fitted(model, ZOO) for model in (JCMSPL(space="semantic"), JCMSPL(space="visual", seen_mean_share=0.5))]
    pages = [explore(model, ZOO, n_samples=9) for model in models]
    script = """
      return [...Array(9).keys()].map((i) => {
        window.explorer.choose(i);
        return { hidden: get("reasons").hidden, title: text("reasons-title"),
          names: all("#reasons-list .name").map((one) => one.textContent) };
      });"""
    samples = 0
    for found, model, page in zip(
        browse(tmp_path, [page.to_html() for page in pages], SET + script), models, pages, strict=True
    ):
        reasons = model.explain(ZOO.X[page.rows], candidates=page.labels, seen_penalty=0.0)
        for one, reason in zip(found, reasons, strict=True):
            assert one["title"] == f"What spoke for {reason.label} rather than {reason.against}"
            assert one["names"] == [name for name, _ in [*reason.top(4), *reversed(reason.bottom(4))]]
            assert not one["hidden"]
            samples += "(its samples)" in one["names"]
    assert samples > 0


def test_the_layer_of_another_model(tmp_path):
    """With its own normalisation; attributes speak by the model as trained."""
    model, other = fitted(JCMSPL(), ZOO), fitted(RidgeVS(seen_penalty=0.25), ZOO)
    page = explore(model, ZOO, n_samples=9, beside={"ridge <b>": other})
    script = """
      const names = all("input[name=layer]").map((one) => one.parentNode.textContent.trim());
      return { names, scores: [...Array(9).keys()].map((i) => window.explorer.scores(i)), title: text("reasons-title"),
        hidden: get("reasons").hidden };"""
    (found,) = browse(tmp_path, [page.to_html()], SET + script)
    expected = other.decision_function(ZOO.X[page.rows], candidates=page.labels)
    assert_allclose(found["scores"], expected, rtol=0, atol=3e-6 * np.abs(expected).max())
    assert found["names"] == ["as trained", "ridge <b>"]
    assert found["title"].endswith(", by descriptions alone")
    assert not found["hidden"]


@cache
def digits_page():
    digits = load_digits()
    X, y = digits.part("trainval")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = JCMSPL(progress=False, **PIXEL_SETTINGS).fit(X, y, class_vectors=digits.classes).calibrate(X, y)
    return digits, model, explore(model, digits, n_samples=40, adapt=True)


def test_drawn_digits_are_named(tmp_path):
    """Wherever and however large they are drawn, and with the scores that the model gives to their pixels."""
    digits, model, page = digits_page()
    small = [[[0.05 + 0.2 * x, 0.7 + 0.2 * y] for x, y in stroke] for stroke in DIGITS["two"]]
    script = """
      const names = {};
      for (const [name, strokes] of Object.entries(given.digits)) { draw(strokes); names[name] = text("named"); }
      draw(given.digits.two);
      const pixels = window.explorer.pixels(), adapted = window.explorer.scoresOf(pixels);
      draw(given.small);
      const small = window.explorer.pixels(), title = text("sample-title");
      get("layer-0").click();
      const plain = window.explorer.scoresOf(pixels);
      get("undo").click();
      const undone = text("sample-title");
      draw([[[0.5, 0.5]]]);
      return { names, pixels, adapted, small, plain, title, undone, dot: window.explorer.pixels() };"""
    given = {"digits": DIGITS, "small": small}
    (found,) = browse(tmp_path, [page.to_html()], SET + DRAW + script, [given])
    assert found["names"] == {name: name for name in DIGITS}
    pixels = np.array(found["pixels"])
    assert set(pixels) <= set(range(17))
    image = pixels.reshape(8, 8)
    assert (image.max(axis=1) > 8).all()  # as high as the data set's digits are
    assert abs(pixels.sum() - digits.X.sum(axis=1).mean()) < 20  # and with as much ink
    assert np.abs(pixels - found["small"]).mean() < 1
    assert (found["title"], found["undone"]) == ("Your drawing", f"Sample in row {page.rows[0]}")
    assert sum(found["dot"]) > 0
    assert_allclose(found["plain"], model.decision_function(pixels[None], candidates=page.labels)[0], atol=1e-6)
    twin = explore_twin(model, digits)
    adapted = twin.decision_function(pixels[None], candidates=page.labels, seen_penalty=0.0)[0]
    assert_allclose(found["adapted"], adapted, atol=1e-6)


def explore_twin(model, digits):
    """Return the model as the page has it, adapted to the test samples."""
    twin = JCMSPL(progress=False, **PIXEL_SETTINGS)
    X, y = digits.part("trainval")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twin.fit(X, y, class_vectors=digits.classes).calibrate(X, y)
    samples = [digits.part(part)[0] for part in ("test_seen", "test_unseen")]
    return twin.adapt(samples, candidates="all")


NAMES = [
    "<script>window.hacked = 1</script>",
    "</script><img src=x onerror='parent.hacked = 1'>",
    "\"quoted\" & 'so' {{ 7 * 7 }} ${1}",
    "狐 Füchsin \u202eesrever \ud800",
    "a_very_long_name_without_a_single_space_that_goes_on_and_on_for_ever_and_ever_and_ever",
    "=1+1",
]


def hostile():
    zoo = make_zoo(n_seen=4, n_unseen=2, n_attributes=6)
    names = dict(zip(zoo.table, NAMES, strict=True))
    named = zoo._replace(
        y=np.array([names[label] for label in zoo.y], dtype=object),
        y_new=np.array([names[label] for label in zoo.y_new], dtype=object),
        table=ClassTable(NAMES, zoo.table.vectors, NAMES),
    )
    dataset = dataset_of(named, name="</title><script>window.hacked = 1</script>")
    return explore(fitted(JCMSPL(), dataset), dataset), dataset


def test_narrow_wide_and_hostile(tmp_path):
    """Nothing sticks out of the window, and names are text."""
    page, _ = hostile()
    plain = explore(fitted(SynC(), ZOO), ZOO)  # without made-up classes
    digits, model, drawn = digits_page()
    every = _accuracies(model, digits)
    pages = [page.to_html(), drawn.to_html(), plain.to_html(), _page(model, digits, {"JCMSPL": every}).to_html()]
    script = """
      const root = document.documentElement, widths = () => [root.scrollWidth - root.clientWidth, window.innerWidth];
      const found = { before: widths(), hacked: Boolean(window.hacked || window.parent.hacked) };
      if (get("is-on")) {
        set("made-name", "<img src=x onerror=parent.hacked=1>");
        get("is-on").click();
        const slider = document.querySelector("#sliders input");
        set(slider.id, slider.max);
      }
      get("every").click();
      const small = all("button:not(.link):not(#taken *):not(.steps *), select, input[type=search]")
        .filter((one) => one.getBoundingClientRect().height < 30).map((one) => one.id);
      return { ...found, after: widths(), scripts: shown("script"), images: shown("img"), small,
        items: shown("#list li"), tiles: shown(".steps .tiles canvas"), made: Boolean(get("is-on")),
        panel: text("made"),
        classes: [...get("of").options].map((one) => one.text) };"""
    widths = [width for width in (390, 760, 1300) for _ in pages]
    every = browse(tmp_path, 3 * pages, SET + script, widths=widths)
    for found, width in zip(every, widths, strict=True):
        assert found["before"] == found["after"] == [0, width]
        assert (found["hacked"], found["scripts"], found["images"], found["small"]) == (False, 2, 0, [])
        assert found["items"] > 10
    first, _, last, told = every[:4]
    assert told["tiles"] == 3 * 3 * 8  # three steps, eight images of each unseen digit
    assert NAMES[0] + " (seen)" in first["classes"] or NAMES[0] + " (unseen)" in first["classes"]
    assert (first["made"], last["made"]) == (True, False)
    assert "This model cannot recognise made-up classes: SynC has no linear map" in last["panel"]
