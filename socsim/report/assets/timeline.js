"use strict";
// The timeline: an overview to choose a window, and bars for what ran in that window, down to single kernels.
(() => {
  const runs = {};         // run -> {header, tracks}
  const view = {run: null, from: 0, to: 1};
  const ROW = 21, LEAST = 2.5, MERGED = 9, LETTER = 6.2;  // px: row height, thinnest bar, longest merged bar, a letter's width
  const labelWidth = () => innerWidth <= 800 ? 96 : 118;
  const seconds = (ps) => {
    const digits = Math.ceil(3 - Math.log10((view.to - view.from) / 1e12));
    return `${Number((ps / 1e12).toFixed(Math.min(Math.max(digits, 2), 9)))} s`;
  };
  const overview = () => document.getElementById("plot-overview");
  const zoom = () => document.getElementById("plot-zoom");

  // ---- packed tracks (the format is described in tracks.py)
  async function load(run) {
    if (runs[run]) return runs[run];
    const buffer = await socsim.blob("timeline-" + run);
    if (!buffer) return null;
    const length = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    let offset = 4 + length;
    const column = (type, count) => {
      const values = new type(buffer, offset, count);
      offset += Math.ceil((count * type.BYTES_PER_ELEMENT) / 8) * 8;
      return values;
    };
    const tracks = header.tracks.map((track) => ({
      ...track, anchors: column(Float64Array, Math.ceil(track.rows / header.chunk)), gaps: column(Float32Array, track.rows),
      durations: column(Float32Array, track.rows), name: column(Uint16Array, track.rows), chunk: header.chunk,
    }));
    return runs[run] = {header, tracks};
  }

  // Calls f(start, end, name, row) for the spans that touch [from, to], until f returns true.
  function visit(track, from, to, f) {
    let low = 0, high = track.anchors.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (track.anchors[middle] <= from) low = middle; else high = middle - 1;
    }
    for (let row = low * track.chunk, end = 0; row < track.rows; row++) {
      const start = row % track.chunk === 0 ? track.anchors[row / track.chunk] : end + track.gaps[row];
      end = start + track.durations[row];
      if (start > to) return;
      if (end >= from && f(start, end, track.name[row], row)) return;
    }
  }
  function spanAt(track, time) {
    let found = null;
    visit(track, time, track.anchors[track.anchors.length - 1] * 2 + 1e15, (start, end, name, row) => {
      found = {start, end, name, row};
      return end > time;
    });
    return found;
  }

  // ---- bars of a window: spans too thin to see are merged, coloured by the name that takes most of the time
  function barsOf(track, from, to, pixels) {
    const pixel = (to - from) / pixels, bars = [];
    let open = null;
    const close = () => {
      if (!open) return;
      let best = 0;
      for (const [name, time] of open.times) if (time > best) { best = time; open.name = name; }
      bars.push(open); open = null;
    };
    visit(track, from, to, (start, end, name, row) => {
      if (end - start >= LEAST * pixel) { close(); bars.push({start, end, name, row, count: 1}); return false; }
      if (open && (start - open.end > LEAST * pixel || end - open.start > MERGED * pixel)) close();
      if (!open) open = {start, end, name, row, count: 0, times: new Map()};
      open.end = end; open.count++;
      open.times.set(name, (open.times.get(name) || 0) + end - start);
      return false;
    });
    close();
    return bars;
  }
  function textOf(track, bar, full) {
    const name = track.names[bar.name];
    if (track.label === "layer" && !full) return name.replace(/^layer /, "");
    return track.label === "step" ? (bar.row ? `${name} step ${bar.row}` : name) : name;
  }
  function hoverOf(track, bar) {
    const name = socsim.plain(`${track.label}: ${textOf(track, bar, true)}`);
    if (bar.count > 1) return `${bar.count} spans within ${socsim.si((bar.end - bar.start) / 1e12, "s")}, most of it ${name}`;
    return `${name}<br>${socsim.si((bar.end - bar.start) / 1e12, "s")} from ${seconds(bar.start)} on`;
  }
  const UNITS = [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"]];
  const unitOf = (ps) => UNITS.find(([size]) => ps >= 2 * size) || UNITS[3];
  function readable(background) {
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(background.slice(i, i + 2), 16) / 255);
    return 0.2126 * r ** 2.2 + 0.7152 * g ** 2.2 + 0.0722 * b ** 2.2 < 0.18 ? "#FFFFFF" : "#1B1F24";
  }
  function traceOf(run, pixels, unit) {
    const trace = {
      type: "bar", orientation: "h", y: [], x: [], base: [], text: [], hovertext: [], hoverinfo: "text", textposition: "inside",
      insidetextanchor: "start", textangle: 0, constraintext: "none", cliponaxis: true, width: 0.86,
      marker: {color: [], line: {color: socsim.theme("paper"), width: []}}, insidetextfont: {size: 11, color: []},
    };
    for (const track of run.tracks) {
      for (const bar of barsOf(track, view.from, view.to, pixels)) {
        const start = Math.max(bar.start, view.from), end = Math.min(bar.end, view.to), colour = track.colours[bar.name];
        const text = bar.count > 1 ? "" : textOf(track, bar);
        const share = (end - start) / (view.to - view.from), fits = text.length * LETTER + 8 < share * pixels;
        trace.y.push(track.label); trace.base.push((start - view.from) / unit); trace.x.push((end - start) / unit);
        trace.text.push(fits ? socsim.plain(text) : ""); trace.hovertext.push(hoverOf(track, bar));
        trace.marker.color.push(colour); trace.marker.line.width.push(share * pixels > 6 ? 0.75 : 0); trace.insidetextfont.color.push(readable(colour));
      }
    }
    return trace;
  }

  // ---- drawing
  async function drawZoom(element, figure, name) {
    const run = await load(name);
    if (!run) return;
    if (view.run !== name) first(run, name);
    const [unit, symbol] = unitOf(view.to - view.from);
    const labels = run.tracks.map((track) => track.label);
    const height = 44 + ROW * labels.length;
    element.style.height = height + "px";
    const pixels = Math.max(element.clientWidth - labelWidth() - 14, 100);
    const layout = socsim.layoutOf({layout: {
      showlegend: false, barmode: "overlay", bargap: 0, hovermode: "closest", uirevision: null,
      dragmode: "zoom", xaxis: {range: [0, (view.to - view.from) / unit], title: {text: `time (${symbol}) after ${seconds(view.from)}`}, zeroline: false},
      margin: {l: labelWidth(), r: 14, t: 6, b: 40},
      yaxis: {type: "category", ticks: "", categoryorder: "array", categoryarray: labels, range: [labels.length - 0.5, -0.5], fixedrange: true, showgrid: false},
    }}, height);
    await Plotly.react(element, [traceOf(run, pixels, unit)], layout, {...socsim.CONFIG, doubleClick: false});
    if (!element.socsimZoom) wireZoom(element);
    const text = document.querySelector("[data-window-text]");
    if (text) text.textContent = `${socsim.si((view.to - view.from) / 1e12, "s")} from ${seconds(view.from)} on`;
  }
  function drawOverview(element, figure, name) {
    const layout = socsim.layoutOf(figure, figure.height);
    layout.dragmode = "zoom";
    layout.margin = {l: labelWidth(), r: 14, t: 6, b: 40};
    layout.yaxis.automargin = false;
    layout.xaxis.range = fullRange(figure);
    layout.shapes = windowShape();
    const drawn = Plotly.react(element, socsim.coloured(figure.data), layout, {...socsim.CONFIG, displayModeBar: false, doubleClick: false});
    if (!element.socsimZoom) wireOverview(element);
    return drawn;
  }
  const fullRange = () => runs[view.run] ? [runs[view.run].header.start_ps / 1e12, runs[view.run].header.end_ps / 1e12] : undefined;
  function windowShape() {
    if (!runs[view.run]) return [];
    const line = {color: socsim.theme("accent"), width: 1.5};
    return [{type: "rect", xref: "x", yref: "paper", x0: view.from / 1e12, x1: view.to / 1e12, y0: 0, y1: 1, line}];
  }
  function firstDecode(run) {
    const steps = run.tracks.find((track) => track.label === "step"), wanted = steps ? steps.names.indexOf("decode") : -1;
    let found = null;
    if (wanted >= 0) visit(steps, 0, Infinity, (start, end, name) => name === wanted && (found = {start, end}));
    return found;
  }
  function first(run, name) {
    view.run = name;
    const start = firstDecode(run);
    [view.from, view.to] = start ? [start.start, start.end] : [run.header.start_ps, run.header.end_ps];
    Plotly.relayout(overview(), {shapes: windowShape(), "xaxis.range": fullRange()});
  }
  async function show(from, to) {
    const run = runs[view.run];
    if (!run) return;
    const {start_ps: least, end_ps: most} = run.header, length = Math.min(Math.max(to - from, 1000), most - least);
    view.from = Math.min(Math.max(from, least), most - length);
    view.to = view.from + length;
    await drawZoom(zoom(), null, view.run);
    await Plotly.relayout(overview(), {shapes: windowShape(), "xaxis.range": fullRange()});
  }

  // ---- hands
  const rangeOf = (change) => change["xaxis.range"] || (change["xaxis.range[0]"] === undefined ? null : [change["xaxis.range[0]"], change["xaxis.range[1]"]]);
  function wireZoom(element) {
    element.socsimZoom = true;
    element.tabIndex = 0;
    element.on("plotly_relayout", (change) => {
      const range = rangeOf(change), [unit] = unitOf(view.to - view.from);
      if (range && !(range[0] === 0 && Math.abs(range[1] * unit - (view.to - view.from)) < 1)) show(view.from + range[0] * unit, view.from + range[1] * unit);
    });
    element.on("plotly_doubleclick", () => move("out"));
    element.addEventListener("keydown", (event) => {
      const known = {ArrowLeft: "left", ArrowRight: "right", "+": "in", "=": "in", "-": "out"}[event.key];
      if (known) { event.preventDefault(); move(known); }
    });
  }
  function wireOverview(element) {
    element.socsimZoom = true;
    element.on("plotly_relayout", (change) => {
      const range = rangeOf(change), full = fullRange();
      if (range && full && !(range[0] === full[0] && range[1] === full[1])) show(range[0] * 1e12, range[1] * 1e12);
    });
    element.on("plotly_click", (event) => {
      const time = event.points[0].x * 1e12, half = (view.to - view.from) / 2;
      show(time - half, time + half);
    });
  }
  function move(where) {
    const length = view.to - view.from, middle = (view.from + view.to) / 2;
    if (where === "left" || where === "right") { const by = (where === "left" ? -0.5 : 0.5) * length; return show(view.from + by, view.to + by); }
    const half = where === "in" ? length / 4 : length;
    return show(middle - half, middle + half);
  }
  function jump(what) {
    const run = runs[view.run], {start_ps: start, end_ps: end, prefill_end_ps: prefill} = run.header;
    if (what === "all") return show(start, end);
    if (what === "prefill") return show(start, prefill);
    const track = run.tracks.find((track) => what === "kernel" ? track.kind === "kernel" : track.label === what);
    const middle = (view.from + view.to) / 2;
    const decode = firstDecode(run), later = decode ? (decode.start + decode.end) / 2 : start;
    const at = what === "step" ? Math.max(middle, later) : view.to - view.from > 0.5 * (end - start) ? later : middle;
    const span = track && spanAt(track, at);
    if (!span) return undefined;
    const margin = 0.04 * (span.end - span.start);
    return show(span.start - margin, span.end + margin);
  }
  document.addEventListener("click", (event) => {
    const target = event.target.closest("button");
    if (!target || !runs[view.run]) return;
    if (target.dataset.window) jump(target.dataset.window);
    if (target.dataset.move) move(target.dataset.move);
  });
  socsim.custom.zoom = drawZoom;
  socsim.custom.overview = drawOverview;
})();
