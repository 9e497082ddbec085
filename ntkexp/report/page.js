"use strict";

// The page's data: [{name, runs: [{id, label, about, panels}]}], see panels.py.
let groups = [];
const dark = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 720px)");
const element = (id) => document.getElementById(id);

// Okabe and Ito (2008), as in the figures; lighter where the page is dark.
const PALETTE = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b07800"],
  dark: ["#56b4e9", "#f08a54", "#4fc79d", "#e09fc4", "#e6b54a"],
};
const VIRIDIS = ["#440154", "#3b528b", "#21918c", "#5ec962", "#d8c520"];
const DEEPEST = 1e-7;
const DASH = { train: "solid", test: "dash" };

const state = { run: null, splits: { train: true, test: true }, layers: true, step: 0 };
let plots = [];

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function template() {
  const axis = { gridcolor: css("--grid"), linecolor: css("--rule"), zeroline: false,
    tickcolor: css("--rule"), automargin: true, exponentformat: "power", minorloglabels: "none" };
  return { layout: { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, DejaVu Sans, sans-serif", size: 12, color: css("--ink") },
    colorway: PALETTE[dark.matches ? "dark" : "light"], xaxis: axis, yaxis: axis,
    hoverlabel: { bgcolor: css("--sheet"), bordercolor: css("--rule"),
      font: { color: css("--ink"), size: 12 } } } };
}

function mixed(place) {
  const at = place * (VIRIDIS.length - 1), low = Math.min(Math.floor(at), VIRIDIS.length - 2);
  const channel = (colour, k) => parseInt(colour.slice(1 + 2 * k, 3 + 2 * k), 16);
  const part = (k) => Math.round(channel(VIRIDIS[low], k) * (low + 1 - at)
    + channel(VIRIDIS[low + 1], k) * (at - low));
  return `rgb(${part(0)},${part(1)},${part(2)})`;
}

function colour(series) {
  if (series.layer !== undefined) return mixed(dark.matches ? 0.15 + 0.85 * series.layer : series.layer);
  const colours = PALETTE[dark.matches ? "dark" : "light"];
  return colours[(series.colour ?? 0) % colours.length];
}

function visible(series) {
  return series.split === undefined || state.splits[series.split];
}

// Dashes tell test from train: one entry of the legend does for both.
function repeated(series, panel) {
  return series.split === "test" && state.splits.train && panel.series.length > 2;
}

function layout(panel, more) {
  const type = (log) => (log ? "log" : "linear");
  return { template: template(), margin: { l: 8, r: 8, t: 6, b: 8 }, hovermode: "closest",
    showlegend: !panel.layers, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    xaxis: { title: { text: panel.x }, type: type(panel.logx) },
    yaxis: { title: { text: panel.y }, type: type(panel.logy) }, ...more };
}

function marker() {
  const step = steps()[state.step];
  if (step === undefined) return [];
  return [{ type: "line", xref: "x", yref: "paper", x0: Math.max(step, 1), x1: Math.max(step, 1),
    y0: 0, y1: 1, line: { color: css("--soft"), width: 1, dash: "dot" } }];
}

function drawCurves(plot) {
  const { panel, place } = plot;
  const traces = panel.series.filter(visible).map((series) => ({
    type: "scatter", mode: panel.series.length > 8 || series.x.length > 40 ? "lines" : "lines+markers",
    name: series.name.replace(/, train$/, ""), showlegend: !repeated(series, panel), x: panel.logx ? series.x.map((x) => (x > 0 ? x : null)) : series.x, y: series.y,
    marker: { size: 4 }, line: { color: colour(series), width: 1.6, dash: DASH[series.split] },
    hovertemplate: `${panel.x} %{x}<br>${series.name}: %{y}<extra></extra>`,
  }));
  const time = panel.x === "iteration";
  const shown = layout(panel, time ? { shapes: marker() } : {});
  if (time && plot.range) shown.xaxis.range = plot.range;
  return Plotly.react(place, traces, shown, { responsive: true, displayModeBar: false }).then(() => {
    if (time && !plot.linked) link(plot);
  });
}

// Zooming one panel along the iterations zooms all; a click takes the slider there.
function link(plot) {
  plot.linked = true;
  plot.place.on("plotly_click", (event) => goTo(event.points[0].x));
  plot.place.on("plotly_relayout", (change) => {
    const low = change["xaxis.range[0]"];
    const range = low === undefined ? null : [low, change["xaxis.range[1]"]];
    if (range === null && !change["xaxis.autorange"]) return;
    for (const other of plots) {
      if (other === plot || !other.linked) continue;
      other.range = range;
      drawCurves(other);
    }
    plot.range = range;
  });
}

function nearest(values, wanted) {
  return values.reduce((best, value, k) =>
    Math.abs(value - wanted) < Math.abs(values[best] - wanted) ? k : best, 0);
}

function drawSpectrum({ panel, place }) {
  const at = nearest(panel.steps, steps()[state.step]);
  const traces = Object.entries(panel.splits).filter(([split]) => state.splits[split])
    .map(([split, rows]) => ({
      type: "scatter", mode: "lines", name: split, x: panel.ranks,
      y: rows[at].map((value) => (value > 0 ? value : null)),
      line: { color: colour({ colour: split === "test" ? 1 : 0 }), width: 1.8, dash: DASH[split] },
      hovertemplate: `rank %{x}<br>${split}: %{y}<extra></extra>`,
    }));
  // One range for all iterations, down to what is left of single precision.
  const all = Object.values(panel.splits).flat(2);
  const top = Math.max(...all), seen = all.filter((value) => value > DEEPEST * top);
  return Plotly.react(place, traces, layout({ ...panel, logx: true, logy: true }, {
    xaxis: { title: { text: "rank" }, type: "log" },
    yaxis: { title: { text: "eigenvalue" }, type: "log",
      range: [Math.log10(Math.min(...seen)) - 0.2, Math.log10(top) + 0.3] },
  }), { responsive: true, displayModeBar: false });
}

function percent(share) {
  return `${Number((100 * share).toPrecision(2))} %`;
}

function drawImages({ panel, place }) {
  const at = nearest(panel.steps, steps()[state.step]);
  const bytes = Uint8Array.from(atob(panel.images[at]), (c) => c.charCodeAt(0));
  const values = new Int8Array(bytes.buffer), side = panel.side, size = side * side;
  const ends = Array.from({ length: side }, (_, k) => -1 + (2 * k) / (side - 1));
  return Promise.all(panel.ranks.map((rank, k) => {
    const rows = Array.from({ length: side }, (_, row) =>
      Array.from(values.subarray(k * size + row * side, k * size + (row + 1) * side), (v) => v / 127));
    const image = place.children[k];
    image.lastElementChild.textContent = `u${rank}, λ/λ1 = ${percent(panel.shares[at][k])}`;
    const hidden = { visible: false, fixedrange: true, range: [-1, 1] };
    return Plotly.react(image.firstElementChild, [{
      type: "heatmap", x: ends, y: ends, z: rows, zmin: -1, zmax: 1, showscale: false,
      colorscale: [[0, "#2166ac"], [0.5, "#f7f7f7"], [1, "#b2182b"]],
      hovertemplate: "(%{x:.2f}, %{y:.2f}): %{z:.2f}<extra></extra>",
    }], { template: template(), margin: { l: 0, r: 0, t: 0, b: 0 }, xaxis: hidden, yaxis: hidden,
      shapes: [{ type: "circle", x0: -panel.radius, x1: panel.radius, y0: -panel.radius,
        y1: panel.radius, line: { color: "#222", width: 1 } }],
    }, { responsive: true, displayModeBar: false });
  }));
}

const DRAW = { curves: drawCurves, spectrum: drawSpectrum, images: drawImages };

function steps() {
  const stepped = state.run.panels.find((panel) => panel.steps);
  return stepped ? stepped.steps : [];
}

function draw(which = () => true) {
  const told = steps()[state.step];
  element("step-told").textContent = told === undefined ? "" : told.toLocaleString("en");
  return Promise.all(plots.filter(which).map((plot) => DRAW[plot.panel.kind](plot)));
}

function goTo(step) {
  if (!steps().length) return;
  state.step = nearest(steps(), step);
  element("step").value = state.step;
  draw((plot) => plot.panel.steps || plot.panel.x === "iteration");
}

function build(panel) {
  const figure = document.createElement("figure");
  figure.className = panel.kind === "images" ? "panel wide" : "panel";
  const caption = document.createElement("figcaption");
  caption.textContent = panel.title;
  const place = document.createElement("div");
  place.className = panel.kind === "images" ? "images" : "plot";
  if (panel.kind === "images") {
    for (const rank of panel.ranks) {
      const image = document.createElement("div");
      image.className = "image";
      image.append(document.createElement("div"), document.createElement("p"));
      image.firstElementChild.className = "plot";
      image.dataset.rank = rank;
      place.append(image);
    }
  }
  figure.append(caption, place);
  element("panels").append(figure);
  return { panel, place, figure };
}

function choose(id) {
  state.run = groups.flatMap((group) => group.runs).find((run) => run.id === id);
  for (const { place } of plots) {
    for (const plot of [place, ...place.querySelectorAll(".plot")]) Plotly.purge(plot);
  }
  element("panels").replaceChildren();
  plots = state.run.panels.filter((panel) => state.layers || !panel.layers).map(build);
  const all = state.run.panels.flatMap((panel) => panel.series ?? []);
  const splits = state.run.panels.some((panel) => panel.splits) || all.some((series) => series.split);
  for (const name of ["train", "test"]) element(`show-${name}`).parentElement.hidden = !splits;
  element("show-layers").parentElement.hidden = !state.run.panels.some((panel) => panel.layers);
  element("time").hidden = steps().length < 2;
  element("step").max = Math.max(steps().length - 1, 0);
  state.step = Math.max(steps().length - 1, 0);
  element("step").value = state.step;
  element("run-about").textContent = state.run.about;
  return draw();
}

function controls() {
  const picker = element("run");
  for (const group of groups) {
    const part = document.createElement("optgroup");
    part.label = group.name;
    for (const run of group.runs) part.append(new Option(run.label, run.id));
    picker.append(part);
  }
  picker.addEventListener("change", () => choose(picker.value));
  for (const split of ["train", "test"]) {
    element(`show-${split}`).addEventListener("change", (event) => {
      state.splits[split] = event.target.checked;
      draw();
    });
  }
  element("show-layers").addEventListener("change", (event) => {
    state.layers = event.target.checked;
    choose(state.run.id);
  });
  element("step").addEventListener("input", (event) => goTo(steps()[Number(event.target.value)]));
  dark.addEventListener("change", () => draw());
}

// The verdicts above the ledger filter it; a second press shows all again. What has no row left
// goes with its heading.
function filters() {
  const buttons = [...document.querySelectorAll(".tally button")];
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const chosen = button.getAttribute("aria-pressed") === "true" ? "" : button.dataset.verdict;
      for (const other of buttons) {
        other.setAttribute("aria-pressed", String(chosen !== "" && other === button));
      }
      showVerdict(chosen);
    });
  }
}

function showVerdict(chosen) {
  const rows = [...document.querySelectorAll(".claims tbody tr")];
  for (const row of rows) row.hidden = chosen !== "" && row.dataset.verdict !== chosen;
  for (const part of document.querySelectorAll(".ledger, .ledger .part")) {
    part.hidden = !part.querySelector(".claims tbody tr:not([hidden])");
  }
  const shown = rows.filter((row) => !row.hidden).length;
  element("tally-told").textContent = `${shown} of ${rows.length} shown`;
}

// Figures, the plotting library and the runs lie gzipped in the page.
function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed.textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

async function drawings() {
  const packed = [...document.querySelectorAll(".drawing script")];
  await Promise.all(packed.map(async (one) => {
    const svg = new Blob([await unpacked(one)], { type: "image/svg+xml" });
    one.previousElementSibling.src = URL.createObjectURL(svg);
    await one.previousElementSibling.decode();
  }));
  // What the address names has moved.
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

async function explore() {
  groups = JSON.parse(await unpacked(element("runs")));
  if (!groups.length) return;
  const library = document.createElement("script");
  library.textContent = await unpacked(element("plotly"));
  document.head.append(library);
  controls();
  const opens = element("runs").dataset.opens;
  element("run").value = opens;
  await choose(opens);
}

filters();
drawings().then(explore).then(() => { document.body.dataset.ready = "true"; });
