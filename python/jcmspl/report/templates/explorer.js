"use strict";
// What runs in an explorer page. It fetches nothing, and names from the data become text, never markup.
(() => {
  const data = JSON.parse(document.getElementById("explorer-data").textContent);

  // ---- the model, as decision_function has it

  const unpacked = (Kind, text) => {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new Kind(bytes.buffer);
  };
  const floats = (text) => text && unpacked(Float32Array, text);
  const doubles = (text) => text && unpacked(Float64Array, text);

  const features = floats(data.features);
  const nClasses = data.classes.length, nSamples = data.rows.length, nFeatures = features.length / nSamples;
  const MADE = nClasses, DRAWING = -1; // the number of the made-up class, and that of a sample which is drawn

  const dot = (matrix, row, vector) => {
    let sum = 0;
    for (let i = 0, at = row * vector.length; i < vector.length; i++) sum += matrix[at + i] * vector[i];
    return sum;
  };
  const product = (matrix, vector) => {
    const out = new Float64Array(matrix.length / vector.length);
    for (let row = 0; row < out.length; row++) out[row] = dot(matrix, row, vector);
    return out;
  };
  const transposed = (matrix, vector, n) => {
    const out = new Float64Array(n);
    for (let row = 0, at = 0; row < vector.length; row++)
      for (let i = 0; i < n; i++, at++) out[i] += matrix[at] * vector[row];
    return out;
  };
  const inner = (a, b) => {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
    return sum;
  };
  const unit = (vector) => {
    let largest = 0;
    for (const value of vector) largest = Math.max(largest, Math.abs(value));
    if (!largest) return vector;
    const scaled = vector.map((value) => value / largest), length = Math.sqrt(inner(scaled, scaled));
    return scaled.map((value) => value / length);
  };

  // Signed roots and a division by the length, as a model wants them.
  const scaledFor = (scaling) => (sample) => {
    let z = Float64Array.from(sample);
    if (scaling.power) z = z.map((value) => Math.sign(value) * Math.sqrt(Math.abs(value)));
    return scaling.unit_rows ? unit(z) : z;
  };
  const scaled = scaledFor(data.layers[0].scaling); // of the model as trained

  // How class vectors become scores; null for models that have no such map.
  const map = data.map && (() => {
    const given = data.map, n = given.n_attributes;
    const vectors = doubles(given.vectors), columns = doubles(given.columns);
    const shift = doubles(given.shift), scale = doubles(given.scale);
    const ofSamples = floats(given.of_samples), offsets = doubles(given.offsets);
    const ofClasses = floats(given.of_classes), lengths = floats(given.lengths), picture = floats(given.picture);
    const sizeOfLengths = lengths ? Math.sqrt(inner(lengths, lengths)) : 0;
    const weighted = (vector) => (columns ? vector.map((value, i) => value * columns[i]) : Float64Array.from(vector));
    const normalised = (vector) => {
      const rows = given.unit_rows ? unit(weighted(vector)) : weighted(vector);
      return rows.map((value, i) => {
        const moved = value - shift[i];
        return Math.abs(moved) <= 4 * Number.EPSILON * Math.abs(shift[i]) ? 0 : moved / scale[i];
      });
    };
    // A class: its normalised vector v, Qv, Fv and the length of Fv.
    const classOf = (vector) => {
      const v = normalised(vector), q = ofClasses ? product(ofClasses, v) : v, f = lengths ? product(lengths, v) : v;
      const length = Math.sqrt(inner(f, f));
      return { vector, v, q, f, length, isZero: length <= 1e-6 * sizeOfLengths * Math.sqrt(inner(v, v)) };
    };
    const score = (one, code, first = 0) => {
      let sum = 0;
      for (let i = 0; i < one.q.length; i++) sum += one.q[i] * code[first + i];
      if (given.metric === "cosine") return one.isZero ? 0 : sum / one.length;
      return given.metric === "euclidean" ? sum - (one.length * one.length) / 2 : sum;
    };
    const code = (z) => product(ofSamples, z).map((value, i) => value + offsets[i]);
    const readout = (of) => (ofClasses ? transposed(ofClasses, of, n) : of);
    const mapped = (one) => (lengths ? transposed(lengths, one.f, n) : one.f); // F'Fv
    // The parts of the attributes in a score.
    const parts = (one, r) => {
      if (given.metric === "cosine") return one.v.map((value, j) => (one.isZero ? 0 : (value * r[j]) / one.length));
      if (given.metric === "dot") return one.v.map((value, j) => value * r[j]);
      const back = mapped(one);
      return one.v.map((value, j) => value * (r[j] - back[j] / 2));
    };
    // How much the score rises with each value of the class vector.
    const slopes = (one, of) => {
      const r = readout(of), back = mapped(one), value = score(one, of);
      let g = r;
      if (given.metric === "euclidean") g = r.map((part, j) => part - back[j]);
      if (given.metric === "cosine" && !one.isZero)
        g = r.map((part, j) => (part - (value * back[j]) / one.length) / one.length);
      g = g.map((part, j) => part / scale[j]);
      if (given.unit_rows) {
        const w = weighted(one.vector), u = unit(w), length = Math.sqrt(inner(w, w)), along = inner(u, g);
        g = g.map((part, j) => (length ? (part - along * u[j]) / length : 0));
      }
      return columns ? g.map((part, j) => part * columns[j]) : g;
    };
    const pictured = (one) => picture && Float64Array.from({ length: nFeatures }, (_, i) => {
      let sum = picture[n * nFeatures + i];
      for (let j = 0; j < n; j++) sum += one.v[j] * picture[j * nFeatures + i];
      return sum;
    });
    const spans = Array.from({ length: n }, (_, j) => {
      let low = Infinity, high = -Infinity;
      for (let c = 0; c < nClasses; c++) {
        low = Math.min(low, vectors[c * n + j]);
        high = Math.max(high, vectors[c * n + j]);
      }
      return high > low ? [low, high] : [Math.min(low, 0), Math.max(high, low ? 0 : 1)];
    });
    const names = given.attributes || Array.from({ length: n }, (_, j) => `attribute ${j}`);
    const vectorOf = (c) => vectors.slice(c * n, (c + 1) * n);
    return { n, names, spans, vectorOf, classOf, score, code, readout, parts, slopes, pictured };
  })();

  // The linear layers: the model as trained, others beside it, and the model adapted. Their scores are without a bias on
  // seen classes; those of all samples are computed when they are first asked for.
  const sampleOf = (i) => features.subarray(i * nFeatures, (i + 1) * nFeatures);
  const numbers = Array.from({ length: nSamples }, (_, i) => i);
  const layers = data.layers.map((given) => {
    const weights = floats(given.weights), offsets = doubles(given.bias);
    const scale = scaledFor(given.scaling);
    const scores = (sample) => product(weights, scale(sample)).map((value, c) => value + offsets[c]);
    let all = null;
    const scoresOfAll = () => {
      if (all) return all;
      all = new Float64Array(nSamples * nClasses);
      for (const i of numbers) all.set(scores(sampleOf(i)), i * nClasses);
      return all;
    };
    return { scores, scoresOfAll, start: given.seen_bias, seenBias: given.seen_bias };
  });
  const codes = map ? numbers.map((i) => map.code(scaled(sampleOf(i)))) : [];
  const known = map && data.classes.map((_, c) => map.classOf(map.vectorOf(c)));

  // ---- what is being looked at

  const state = {
    sample: 0, group: "all", layer: layers.length - 1, isOn: false, name: "", from: 0, vector: null,
    drawing: null, strokes: [], search: "", of: "", which: "all", everyScore: false, order: "matter", find: "", shown: 0,
  };
  let made = null; // the class of the sliders, when it takes part
  const found = { named: new Int32Array(nSamples), before: new Int32Array(nSamples), isTaken: new Uint8Array(nSamples) };

  const isCandidate = (c) => state.group === "all" || data.seen[c] === (state.group === "seen");
  const isMixed = () => {
    const kinds = new Set(data.seen.filter((_, c) => isCandidate(c)));
    if (made) kinds.add(false);
    return kinds.size > 1;
  };
  const layer = () => layers[state.layer];
  const handicaps = () => {
    const taken = isMixed() ? layer().seenBias : 0;
    return data.seen.map((seen) => (seen ? -taken : 0));
  };
  const nameOf = (c) => (c === MADE ? state.name || "made-up class" : data.classes[c]);
  const placeOf = (i) => (data.ids ? data.ids[i] : `row ${data.rows[i]}`);
  const kindOf = (c) => (c === MADE ? "made up" : data.seen[c] ? "seen" : "unseen");

  // All scores of a sample, best first; of equal ones the made-up class comes last.
  const ranked = (values, code) => {
    const off = handicaps(), list = [];
    for (let c = 0; c < nClasses; c++) if (isCandidate(c)) list.push({ c, score: values[c] + off[c] });
    if (made) list.push({ c: MADE, score: map.score(made, code) });
    const tie = rounding(list.map((one) => one.score));
    return list.sort((a, b) => {
      if ((a.c === MADE || b.c === MADE) && Math.abs(a.score - b.score) <= tie) return a.c - b.c;
      return b.score - a.score || a.c - b.c;
    });
  };
  const rounding = (scores) => 2e-6 * scores.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const valuesOf = (i, one = layer()) => (i === DRAWING ? one.scores(state.drawing)
    : one.scoresOfAll().subarray(i * nClasses, (i + 1) * nClasses));
  const codeOf = (i) => (i === DRAWING ? map && map.code(scaled(state.drawing)) : codes[i]);

  const nameAll = () => {
    const off = handicaps(), base = layer().scoresOfAll();
    for (let i = 0; i < nSamples; i++) {
      let best = -1, top = -Infinity, most = 0;
      for (let c = 0, at = i * nClasses; c < nClasses; c++, at++) {
        if (!isCandidate(c)) continue;
        const score = base[at] + off[c];
        most = Math.max(most, Math.abs(score));
        if (score > top) [best, top] = [c, score];
      }
      found.before[i] = found.named[i] = best;
      found.isTaken[i] = 0;
      if (!made) continue;
      const score = map.score(made, codes[i]);
      if (score - top > 2e-6 * Math.max(most, Math.abs(score))) {
        found.named[i] = MADE;
        found.isTaken[i] = 1;
      }
    }
  };

  // ---- the page

  const $ = (id) => document.getElementById(id);
  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name in node && name !== "list") node[name] = value;
      else node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  };
  // Three digits of the largest of some numbers, and as many decimals of the others.
  const formatOf = (values) => {
    const most = Math.max(...values.map(Math.abs));
    if (!(most >= 1e-4 && most < 1e6)) return (value) => value.toExponential(1).replace(/-/g, "−");
    const decimals = Math.max(0, 2 - Math.floor(Math.log10(most)));
    return (value) => value.toFixed(decimals).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");
  };
  const number = (value) => (value ? formatOf([value])(value) : "0");
  const share = (part, whole) => (whole ? `${Math.round((100 * part) / whole)} %` : "–");
  const breakable = (name) => name.split(/(?<=[_./-])/).flatMap((part) => [part, make("wbr")]);
  const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

  const paint = (canvas, pixels, isImagined = false) => {
    const { height, width, most } = data.image, context = canvas.getContext("2d");
    canvas.width = width;
    canvas.height = height;
    let low = 0, high = most;
    if (isImagined) high = Math.max(...pixels);
    const image = context.createImageData(width, height);
    for (let i = 0; i < width * height; i++) {
      const ink = Math.max(0, Math.min(1, (pixels[i] - low) / (high - low || 1)));
      image.data.fill(Math.round(255 * (1 - ink)), 4 * i, 4 * i + 3);
      image.data[4 * i + 3] = 255;
    }
    context.putImageData(image, 0, 0);
    return canvas;
  };
  const thumbnail = (i) => paint(make("canvas"), sampleOf(i));

  // -- the list of samples

  const items = data.rows.map((_, i) => {
    const item = make("li", { id: `sample-${i}`, role: "option" });
    if (data.image) item.append(thumbnail(i));
    else item.append(make("span", { className: "row" }, placeOf(i)), make("span", { className: "what" }));
    item.addEventListener("click", () => {
      choose(i);
      $("sample").scrollIntoView({ block: "nearest", behavior: "smooth" });
    });
    return item;
  });
  let listed = [];

  const isListed = (i) => {
    const isRight = found.named[i] === data.truth[i];
    if (state.of !== "" && data.truth[i] !== Number(state.of)) return false;
    if (state.which === "wrong" && isRight) return false;
    if (state.which === "right" && !isRight) return false;
    if (state.which === "taken" && !found.isTaken[i]) return false;
    if (!state.search) return true;
    const text = `${placeOf(i)} row ${data.rows[i]} ${nameOf(data.truth[i])} ${nameOf(found.named[i])}`.toLowerCase();
    return state.search.toLowerCase().split(/\s+/).every((word) => text.includes(word));
  };
  const drawList = () => {
    listed = [];
    const right = [0, 0], all = [0, 0];
    items.forEach((item, i) => {
      const isRight = found.named[i] === data.truth[i], isUnseen = Number(!data.seen[data.truth[i]]);
      if (isCandidate(data.truth[i])) {
        all[isUnseen]++;
        right[isUnseen] += isRight;
      }
      const verdict = found.isTaken[i] ? "taken" : isRight ? "right" : "wrong";
      const words = `${nameOf(data.truth[i])}, named ${nameOf(found.named[i])}`;
      item.className = verdict;
      item.title = `${placeOf(i)}: ${words}`;
      item.setAttribute("aria-label", item.title);
      item.setAttribute("aria-selected", i === state.sample);
      if (!data.image) {
        const what = isRight ? `${nameOf(data.truth[i])} ✓` : `${nameOf(data.truth[i])} → ${nameOf(found.named[i])}`;
        if (item.lastChild.textContent !== what) item.lastChild.replaceChildren(...breakable(what));
      }
      item.hidden = !isListed(i);
      if (!item.hidden) listed.push(i);
    });
    $("listed").textContent = listed.length === nSamples ? plural(nSamples, "sample")
      : `${listed.length.toLocaleString("en")} of ${plural(nSamples, "sample")}`;
    $("nothing").hidden = listed.length > 0;
    const parts = [];
    if (all[0]) parts.push(`${share(right[0], all[0])} of seen classes`);
    if (all[1]) parts.push(`${share(right[1], all[1])} of unseen ones`);
    $("accuracy").textContent = `Named right: ${parts.join(", ")}`;
    const active = state.sample === DRAWING ? null : items[state.sample];
    if (active && !active.hidden) $("list").setAttribute("aria-activedescendant", active.id);
    else $("list").removeAttribute("aria-activedescendant");
  };
  const reveal = () => {
    const item = items[state.sample], box = $("list");
    if (!item || item.hidden) return;
    const top = item.offsetTop - box.offsetTop;
    if (top < box.scrollTop) box.scrollTop = top;
    if (top + item.offsetHeight > box.scrollTop + box.clientHeight)
      box.scrollTop = top + item.offsetHeight - box.clientHeight;
  };

  // -- the chosen sample

  const scoreRow = ({ c, score }, low, high, truth, format) => {
    const row = make("li", { className: c === MADE ? "made" : data.seen[c] ? "seen" : "unseen" });
    const bar = make("i");
    bar.style.width = `${high > low ? Math.max(1, (100 * (score - low)) / (high - low)) : 100}%`;
    const name = make("span", { className: "name" }, ...breakable(nameOf(c)), make("small", {}, kindOf(c)));
    if (c === truth) name.append(make("small", { className: "true" }, "✓ what it is"));
    row.append(name, make("span", { className: "bar" }, bar), make("span", { className: "value" }, format(score)));
    return row;
  };
  const FEW = nClasses > 12 ? 8 : 13;
  const drawSample = () => {
    const isDrawing = state.sample === DRAWING, i = state.sample;
    const code = codeOf(i), list = ranked(valuesOf(i), code), truth = isDrawing ? -1 : data.truth[i];
    const best = list[0].c, title = $("sample-title");
    title.textContent = isDrawing ? "Your drawing" : data.ids ? data.ids[i] : `Sample in row ${data.rows[i].toLocaleString("en")}`;
    if (data.image) paint($("picture"), isDrawing ? state.drawing : sampleOf(i));
    $("named").replaceChildren(...breakable(nameOf(best)));
    $("named").className = best === MADE ? "made" : data.seen[best] ? "seen" : "unseen";
    $("named-kind").textContent = best === MADE ? "the made-up class" : `${kindOf(best)} class`;
    $("truth").textContent = isDrawing ? "Named from what you have drawn so far."
      : best === truth ? `Right: it is ${nameOf(truth)} (${kindOf(truth)} class, ${data.parts[i]} sample).`
      : `It is ${nameOf(truth)} (${kindOf(truth)} class, ${data.parts[i]} sample)` +
        (isCandidate(truth) ? "." : ", which is no candidate now.");
    $("truth").className = isDrawing ? "" : best === truth ? "right" : "wrong";
    const few = state.everyScore ? list
      : list.filter((one, place) => place < FEW || one.c === truth || one.c === MADE);
    const low = list[list.length - 1].score, high = list[0].score, format = formatOf([low, high]);
    $("scores").replaceChildren(...few.map((one) => scoreRow(one, low, high, truth, format)));
    $("every").hidden = list.length <= FEW;
    $("every").textContent = state.everyScore ? "Show the best only" : `Show all ${list.length.toLocaleString("en")} scores`;
    drawReasons(list, code);
  };
  // What the attributes have to do with it, and the samples of classes that have some, in the model as trained; nothing
  // where that does not add up.
  const partsOf = ({ c, score }, values, r) => {
    const parts = Array.from(map.parts(c === MADE ? made : known[c], r)), share = c === MADE ? 1 : data.map.shares[c];
    const shared = parts.map((value) => share * value), sum = shared.reduce((all, value) => all + value, 0);
    const size = shared.reduce((all, value) => all + Math.abs(value), 0), rest = (c === MADE ? score : values[c]) - sum;
    if (share === 1 && Math.abs(rest) > 1e-4 * size) return null;
    return [...shared, share === 1 ? 0 : rest];
  };
  const drawReasons = (list, code) => {
    const box = $("reasons");
    if (!box) return;
    box.hidden = true;
    if (list.length < 2) return;
    const r = map.readout(code), values = valuesOf(state.sample, layers[0]);
    const [first, second] = list.slice(0, 2).map((one) => partsOf(one, values, r));
    if (!first || !second) return;
    const parts = first.map((value, j) => value - second[j]), names = [...map.names, "(its samples)"];
    if (!parts.some((part) => part)) return;
    const order = [...parts.keys()].sort((a, b) => parts[b] - parts[a]);
    const chosen = [...order.filter((j) => parts[j] > 0).slice(0, 4), ...order.filter((j) => parts[j] < 0).slice(-4)];
    const most = Math.max(...chosen.map((j) => Math.abs(parts[j]))), format = formatOf([most]);
    box.hidden = false;
    $("reasons-title").textContent = `What spoke for ${nameOf(list[0].c)} rather than ${nameOf(list[1].c)}` +
      (state.layer ? ", by descriptions alone" : "");
    $("reasons-list").replaceChildren(...chosen.map((j) => {
      const bar = make("i");
      bar.style.width = `${(50 * Math.abs(parts[j])) / most}%`;
      return make("li", { className: parts[j] > 0 ? "for" : "against" },
        make("span", { className: "name" }, names[j]), make("span", { className: "bar" }, bar),
        make("span", { className: "value" }, `${parts[j] > 0 ? "+" : ""}${format(parts[j])}`));
    }));
  };

  // -- the made-up class

  const sliders = [];
  const formats = map && map.spans.map(([low, high]) => {
    const most = Math.max(Math.abs(low), Math.abs(high));
    return formatOf([most ? 10 ** Math.ceil(Math.log10(most)) : 0]);
  });
  const changed = (j) => state.vector[j] !== map.vectorOf(state.from)[j];
  const drawMade = () => {
    if (!map) return;
    const n = found.isTaken.reduce((sum, one) => sum + one, 0);
    const differs = state.vector.some((_, j) => changed(j));
    $("takes").textContent = !state.isOn ? "Move a slider: the class then takes part, and you see whom it takes samples from."
      : n ? `takes ${n.toLocaleString("en")} of ${plural(nSamples, "sample")}`
      : differs ? `takes none of the ${plural(nSamples, "sample")}`
      : `is ${nameOf(state.from)} to the last value: move a slider, and see whom it takes samples from`;
    const losses = new Map();
    for (let i = 0; i < nSamples; i++) {
      const c = found.before[i], loss = losses.get(c) || { had: 0, lost: 0 };
      loss.had++;
      loss.lost += found.isTaken[i];
      losses.set(c, loss);
    }
    const rows = [...losses].filter(([, loss]) => loss.lost).sort((a, b) => b[1].lost - a[1].lost);
    $("losses").replaceChildren(...rows.slice(0, 6).map(([c, loss]) => {
      const bar = make("i");
      bar.style.width = `${(100 * loss.lost) / loss.had}%`;
      return make("li", { className: "made" },
        make("span", { className: "name" }, ...breakable(`from ${nameOf(c)}`), make("small", {}, kindOf(c))),
        make("span", { className: "bar" }, bar),
        make("span", { className: "value" }, `${loss.lost} of ${loss.had}`));
    }));
    const taken = [...found.isTaken.keys()].filter((i) => found.isTaken[i]);
    $("taken").replaceChildren(...taken.slice(0, MOST_TAKEN).map((i) => {
      const words = `${placeOf(i)}: ${nameOf(data.truth[i])}, taken from ${nameOf(found.before[i])}`;
      const button = make("button", { type: "button", title: words, "aria-label": words });
      button.append(data.image ? thumbnail(i) : `${data.ids ? data.ids[i] : data.rows[i]} ${nameOf(data.truth[i])}`);
      button.addEventListener("click", () => choose(i));
      return make("li", {}, button);
    }), ...(taken.length > MOST_TAKEN ? [make("li", { className: "more" }, `and ${taken.length - MOST_TAKEN} more`)] : []));
    if (data.map.picture) {
      paint($("imagined"), map.pictured(map.classOf(state.vector)), true);
    }
  };
  const MOST_TAKEN = data.image ? 40 : 12;

  const effects = () => {
    const code = codeOf(state.sample), one = map.classOf(state.vector);
    return map.slopes(one, code).map((slope, j) => slope * (map.spans[j][1] - map.spans[j][0]));
  };
  const STEP = 12;
  // The order stays while a slider is being moved.
  const drawSliders = () => {
    if (!map) return;
    const of = effects(), words = state.find.toLowerCase().split(/\s+/);
    let order = [...map.names.keys()].filter((j) => words.every((word) => map.names[j].toLowerCase().includes(word)));
    if (state.order === "changed") order = order.filter(changed);
    if (state.order === "matter") order.sort((a, b) => Math.abs(of[b]) - Math.abs(of[a]) || a - b);
    const total = order.length;
    order = order.slice(0, state.shown || (total <= 2 * STEP ? total : STEP));
    sliders.length = 0;
    $("sliders").replaceChildren(...order.map((j) => sliderOf(j)));
    $("more-sliders").hidden = order.length >= total;
    $("more-sliders").textContent = `Show ${Math.min(2 * STEP, total - order.length)} more of ${plural(total, "attribute")}`;
    $("no-sliders").hidden = total > 0;
    drawEffects(of);
  };
  const sliderOf = (j) => {
    const [low, high] = map.spans[j], output = make("output"), hint = make("small");
    const input = make("input", {
      type: "range", min: low, max: high, step: "any", value: state.vector[j], "aria-label": map.names[j],
      id: `attribute-${j}`,
    });
    const mark = make("i", { className: "mark", title: "where it started" });
    const place = (100 * (map.vectorOf(state.from)[j] - low)) / (high - low);
    mark.style.left = `calc(.5rem + (100% - 1rem) * ${place / 100})`;
    input.addEventListener("input", () => {
      state.vector[j] = Number(input.value);
      state.isOn = $("is-on").checked = true;
      madeChanged();
    });
    const label = make("label", { htmlFor: input.id }, make("span", { className: "name" }, map.names[j]), hint, output);
    const slider = { j, input, output, hint, mark };
    sliders.push(slider);
    return make("li", {}, label, make("span", { className: "track" }, mark, input));
  };
  const drawEffects = (of) => {
    for (const { j, output, hint, mark } of sliders) {
      output.textContent = formats[j](state.vector[j]);
      mark.hidden = !changed(j);
      const isUp = of[j] > 0;
      hint.textContent = Math.abs(of[j]) < 1e-9 ? "" : isUp ? "▲" : "▼";
      hint.className = isUp ? "for" : "against";
      hint.title = `more of it ${isUp ? "raises" : "lowers"} the made-up class's score for the chosen sample`;
    }
  };
  const startFrom = (c) => {
    state.from = c;
    state.vector = map.vectorOf(c);
    $("mix").value = 0;
  };
  const mix = () => {
    const one = map.vectorOf(state.from), two = map.vectorOf(Number($("mixed").value)), part = Number($("mix").value);
    state.vector = one.map((value, i) => (1 - part) * value + part * two[i]);
    state.isOn = $("is-on").checked = true;
    drawSliders();
    madeChanged();
  };

  // -- what changes what

  let waiting = 0;
  const refresh = () => {
    nameAll();
    drawList();
    drawSample();
    drawMade();
  };
  const madeChanged = () => {
    if (state.isOn && state.layer) {
      state.layer = 0;
      $("layer-0").checked = true;
      drawBias();
    }
    made = state.isOn ? map.classOf(Float64Array.from(state.vector)) : null;
    refresh();
    if (map) drawEffects(effects());
  };
  const choose = (i) => {
    state.sample = i;
    drawList();
    drawSample();
    if (state.order === "matter") drawSliders();
    else if (map) drawEffects(effects());
    reveal();
  };
  const step = (by) => {
    if (!listed.length) return;
    const at = listed.indexOf(state.sample);
    choose(listed[at < 0 ? 0 : (at + by + listed.length) % listed.length]);
  };

  const on = (id, event, action) => $(id) && $(id).addEventListener(event, action);
  on("search", "input", (event) => { state.search = event.target.value; drawList(); });
  on("of", "change", (event) => { state.of = event.target.value; drawList(); });
  on("which", "change", (event) => { state.which = event.target.value; drawList(); });
  on("previous", "click", () => step(-1));
  on("next", "click", () => step(1));
  on("every", "click", () => { state.everyScore = !state.everyScore; drawSample(); });
  const drawBias = () => {
    if (!$("bias")) return;
    const largest = layer().scoresOfAll().reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
    const reach = Math.max(largest, Math.abs(layer().start));
    Object.assign($("bias"), { min: -reach, max: reach, step: "any", value: layer().seenBias });
    $("bias-value").textContent = formatOf([reach])(layer().seenBias);
  };
  const setBias = (value) => {
    layer().seenBias = value;
    drawBias();
    refresh();
  };
  on("bias", "input", (event) => setBias(Number(event.target.value)));
  on("bias-reset", "click", () => setBias(layer().start));
  // A made-up class has no samples: it competes with the model as trained.
  const useLayer = (number) => {
    state.layer = number;
    if (state.layer && map) state.isOn = $("is-on").checked = false;
    drawBias();
    if (map) madeChanged();
    else refresh();
  };
  layers.forEach((_, number) => on(`layer-${number}`, "change", () => useLayer(number)));
  for (const choice of document.querySelectorAll("input[name=group]"))
    choice.addEventListener("change", () => {
      state.group = choice.value;
      if ($("bias-box")) $("bias-box").hidden = state.group !== "all";
      refresh();
      if (map) drawEffects(effects());
    });
  on("list", "keydown", (event) => {
    const across = data.image ? Math.max(1, Math.floor($("list").clientWidth / items[0].offsetWidth)) : 1;
    const by = { ArrowDown: across, ArrowUp: -across, ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Home" && listed.length) choose(listed[0]);
    else if (event.key === "End" && listed.length) choose(listed[listed.length - 1]);
    else if (by) step(by);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.closest("input, select, textarea, button, [contenteditable]")) return;
    if (event.key === "ArrowRight" || event.key === "n") step(1);
    else if (event.key === "ArrowLeft" || event.key === "p") step(-1);
    else if (event.key === "/") $("search").focus();
    else return;
    event.preventDefault();
  });
  on("is-on", "change", (event) => { state.isOn = event.target.checked; madeChanged(); });
  on("made-name", "input", (event) => { state.name = event.target.value; refresh(); });
  on("from", "change", (event) => { startFrom(Number(event.target.value)); drawSliders(); madeChanged(); });
  on("mix", "input", mix);
  on("mixed", "change", () => { if (Number($("mix").value)) mix(); });
  on("made-reset", "click", () => { startFrom(state.from); drawSliders(); madeChanged(); });
  on("find", "input", (event) => { state.find = event.target.value; state.shown = 0; drawSliders(); });
  on("order", "change", (event) => { state.order = event.target.value; state.shown = 0; drawSliders(); });
  on("more-sliders", "click", () => { state.shown = sliders.length + 2 * STEP; drawSliders(); });

  // ---- drawing

  // The data set's digits were made from forms by NIST's programs: fitted into a box of 20 x 32 dots, made thicker or
  // thinner until about 310 dots had ink, and then counted in blocks of 4 x 4. So is the drawing, as lines.
  const DOTS = 32, BLOCK = 4, BOX = 20, INK = 310, THIN = 3, THICK = 9;
  const dotsOf = (strokes, thickness) => {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const [x, y] of strokes.flat()) {
      [left, right] = [Math.min(left, x), Math.max(right, x)];
      [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
    }
    const height = (DOTS - thickness) / Math.max(bottom - top, 1e-9), width = (BOX - thickness) / Math.max(right - left, 1e-9);
    const down = Math.min(height, 2 * width), across = Math.min(width, down); // narrow digits stay narrow
    const place = ([x, y]) => [
      DOTS / 2 + (x - (left + right) / 2) * across, DOTS / 2 + (y - (top + bottom) / 2) * down,
    ];
    const lines = strokes.map((stroke) => stroke.map(place)), dots = new Uint8Array(DOTS * DOTS);
    const radius = thickness / 2, square = radius * radius;
    for (const line of lines)
      for (let k = 0; k < line.length; k++) {
        const [x0, y0] = line[Math.max(k - 1, 0)], [x1, y1] = line[k], dx = x1 - x0, dy = y1 - y0, long = dx * dx + dy * dy;
        const from = (a, b) => Math.max(0, Math.floor(Math.min(a, b) - radius));
        const to = (a, b) => Math.min(DOTS - 1, Math.ceil(Math.max(a, b) + radius));
        for (let y = from(y0, y1); y <= to(y0, y1); y++)
          for (let x = from(x0, x1); x <= to(x0, x1); x++) {
            const along = long ? Math.max(0, Math.min(1, ((x + 0.5 - x0) * dx + (y + 0.5 - y0) * dy) / long)) : 0;
            const ox = x + 0.5 - x0 - along * dx, oy = y + 0.5 - y0 - along * dy;
            if (ox * ox + oy * oy <= square) dots[y * DOTS + x] = 1;
          }
      }
    return dots;
  };
  const pixelsOf = (strokes) => {
    let low = THIN, high = THICK;
    for (let k = 0; k < 8; k++) {
      const middle = (low + high) / 2, ink = dotsOf(strokes, middle).reduce((sum, dot) => sum + dot, 0);
      if (ink < INK) low = middle;
      else high = middle;
    }
    const dots = dotsOf(strokes, (low + high) / 2), side = DOTS / BLOCK, pixels = new Float64Array(side * side);
    dots.forEach((dot, i) => {
      pixels[Math.floor(i / DOTS / BLOCK) * side + Math.floor((i % DOTS) / BLOCK)] += dot;
    });
    return pixels;
  };

  const pad = $("pad");
  const drawPad = () => {
    const context = pad.getContext("2d"), side = Math.max(pad.clientWidth, 1), ratio = window.devicePixelRatio || 1;
    pad.width = pad.height = Math.round(side * ratio);
    context.scale(ratio * side, ratio * side);
    context.lineWidth = 0.075;
    context.lineCap = context.lineJoin = "round";
    context.strokeStyle = getComputedStyle(pad).color;
    for (const stroke of state.strokes) {
      context.beginPath();
      context.moveTo(...stroke[0]);
      for (const point of stroke) context.lineTo(...point);
      context.stroke();
    }
    $("pad-hint").hidden = state.strokes.length > 0;
    $("undo").disabled = $("clear").disabled = !state.strokes.length;
  };
  const drawn = () => {
    drawPad();
    if (!state.strokes.length) {
      if (state.sample === DRAWING) choose(listed[0] || 0);
      return;
    }
    state.drawing = pixelsOf(state.strokes);
    const isNew = state.sample !== DRAWING;
    state.sample = DRAWING;
    if (isNew) drawList();
    drawSample();
    if (map) drawEffects(effects());
  };
  if (pad) {
    let stroke = null, pointer = 0; // one at a time
    const point = (event) => {
      const box = pad.getBoundingClientRect();
      return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    };
    const moved = (event) => {
      const events = event.getCoalescedEvents ? event.getCoalescedEvents() : [];
      for (const one of events.length ? events : [event]) stroke.push(point(one));
      if (!waiting) waiting = requestAnimationFrame(() => { waiting = 0; drawn(); });
    };
    pad.addEventListener("pointerdown", (event) => {
      if (event.button || stroke) return;
      event.preventDefault();
      pointer = event.pointerId;
      try { pad.setPointerCapture(event.pointerId); } catch { /* a pointer that is gone already */ }
      stroke = [point(event)];
      state.strokes.push(stroke);
      drawn();
    });
    pad.addEventListener("pointermove", (event) => { if (stroke && event.pointerId === pointer) moved(event); });
    const ended = (event) => {
      if (!stroke || event.pointerId !== pointer) return;
      stroke = null;
      drawn();
      if (state.order === "matter") drawSliders();
    };
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) pad.addEventListener(name, ended);
    on("undo", "click", () => { state.strokes.pop(); drawn(); });
    on("clear", "click", () => { state.strokes = []; drawn(); });
    window.addEventListener("resize", drawPad);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawPad);
  }

  // ---- begin

  $("of").append(...data.classes.map((name, c) => make("option", { value: c }, `${name} (${kindOf(c)})`)));
  $("of").value = "";
  if (map) {
    $("from").append(...data.classes.map((name, c) => make("option", { value: c }, `${name} (${kindOf(c)})`)));
    state.name = $("made-name").value;
    startFrom(Math.max(0, data.seen.indexOf(false)));
    $("from").value = state.from;
    $("mixed").append(...data.classes.map((name, c) => make("option", { value: c }, `${name} (${kindOf(c)})`)));
    $("mixed").value = state.from > 0 ? 0 : nClasses - 1;
  }
  $("list").append(...items);
  // The same samples of unseen classes under each step of the story, named among these classes.
  const unseen = data.seen.flatMap((isSeen, c) => (isSeen ? [] : [c]));
  const shownInStory = unseen.flatMap((c) => numbers.filter((i) => data.truth[i] === c).slice(0, 8));
  document.querySelectorAll(".steps .tiles").forEach((list, number) => list.append(...shownInStory.map((i) => {
    const values = valuesOf(i, layers[number]), best = unseen.reduce((a, b) => (values[b] > values[a] ? b : a));
    const words = `${nameOf(data.truth[i])}, named ${nameOf(best)}`;
    const button = make("button", { type: "button", title: words, "aria-label": words }, thumbnail(i));
    button.addEventListener("click", () => {
      $(`layer-${number}`).checked = true;
      useLayer(number);
      choose(i);
      $("sample").scrollIntoView({ block: "nearest", behavior: "smooth" });
    });
    return make("li", { className: best === data.truth[i] ? "right" : "wrong" }, button);
  })));
  refresh();
  drawSliders();
  drawBias();
  if (pad) drawPad();

  // For the console, and for tests: scores in the order of the classes, the made-up one last.
  const inOrder = (values, code) => ranked(values, code).sort((a, b) => a.c - b.c).map((one) => one.score);
  window.explorer = {
    scores: (i) => inOrder(valuesOf(i), codes[i]),
    scoresOf: (sample) => inOrder(layer().scores(sample), map && map.code(scaled(sample))),
    named: () => Array.from(found.named, nameOf),
    pixels: () => (state.drawing ? Array.from(state.drawing) : null),
    choose,
  };
})();
