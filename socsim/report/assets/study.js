"use strict";
// The page of a sweep: every view shows the rows that the filter leaves, and a click on a row shows all of it.
(() => {
  const {data, si, plain, coloured, layoutOf, CONFIG} = socsim;
  const {columns, knobs, figures, objectives} = data;
  const count = columns.device.length;
  const all = [...Array(count).keys()];
  const knobOf = Object.fromEntries(knobs.map((knob) => [knob.path, knob]));
  const figureOf = Object.fromEntries(figures.map((figure) => [figure.key, figure]));
  const place = Object.fromEntries(knobs.map((knob) => [knob.path, new Map(knob.values.map((value, i) => [value, i]))]));
  const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D1F", "#999999"];
  const SCALE = [[0, "#12355B"], [0.25, "#0072B2"], [0.5, "#56B4E9"], [0.75, "#F0C85A"], [1, "#E69F00"]];
  const ranges = Object.fromEntries(knobs.map((knob) => [knob.path, [0, knob.values.length - 1]]));
  const chosen = {feasible: false, row: null};
  let shown = all;

  // ---- words
  const axisOf = (name) => knobOf[name] || figureOf[name];
  const text = (name, row) => {
    const value = columns[name][row];
    if (value === null || value === undefined) return "unknown";
    const figure = figureOf[name];
    return figure && figure.unit ? si(value, figure.unit) : String(value);
  };
  const title = (name) => { const axis = axisOf(name); return axis.unit ? `${axis.label} (${axis.unit})` : axis.label; };
  const at = (name, row) => knobOf[name] ? knobOf[name].at[place[name].get(columns[name][row])] : columns[name][row];
  const where = (row) => knobs.map((knob) => `${knob.label} ${text(knob.path, row)}`).join("<br>");
  const hover = (row, names) => plain(names.map((name) => `${axisOf(name).label} ${text(name, row)}`).join("\n")).replace(/\n/g, "<br>")
    + "<br>" + plain(where(row).replace(/<br>/g, "\n")).replace(/\n/g, "<br>");

  // ---- filter
  const ticks = (knob) => ({tickvals: knob.at, ticktext: knob.values.map((value) => plain(value))});
  function keep() {
    shown = all.filter((row) => (!chosen.feasible || columns.feasible[row]) && knobs.every((knob) => {
      const index = place[knob.path].get(columns[knob.path][row]);
      return index >= ranges[knob.path][0] && index <= ranges[knob.path][1];
    }));
    document.getElementById("study-count").textContent = `${shown.length} of ${count} rows shown`;
  }
  function slider(knob, end, word) {
    const input = document.createElement("input");
    Object.assign(input, {type: "range", min: 0, max: knob.values.length - 1, step: 1, value: ranges[knob.path][end]});
    input.setAttribute("aria-label", `${knob.label}, ${word}`);
    input.style.width = "110px";
    input.dataset.knob = knob.path;
    input.dataset.end = end;
    return input;
  }
  function filters() {
    const box = document.getElementById("study-filters");
    for (const knob of knobs) {
      const line = document.createElement("div");
      line.className = "filter";
      const name = document.createElement("span"), value = document.createElement("output");
      name.textContent = knob.label; name.title = knob.path;
      name.style.minWidth = "11em";
      const say = () => {
        const [low, high] = ranges[knob.path];
        value.textContent = low === high ? `${knob.values[low]}` : `${knob.values[low]} to ${knob.values[high]}`;
      };
      line.append(name, slider(knob, 0, "from"), slider(knob, 1, "to"), value);
      line.addEventListener("input", (event) => {
        const end = Number(event.target.dataset.end);
        ranges[knob.path][end] = Number(event.target.value);
        if (ranges[knob.path][0] > ranges[knob.path][1]) {
          ranges[knob.path][1 - end] = ranges[knob.path][end];
          line.querySelector(`[data-end="${1 - end}"]`).value = ranges[knob.path][end];
        }
        say(); refresh();
      });
      say(); box.append(line);
    }
    if (columns.feasible.some((kept) => !kept)) {
      const label = document.createElement("label"), tick = document.createElement("input");
      tick.type = "checkbox"; tick.id = "study-feasible";
      label.className = "filter"; label.append(tick, " only rows that keep to the constraints");
      tick.addEventListener("change", () => { chosen.feasible = tick.checked; refresh(); });
      box.append(label);
    }
  }

  // ---- choices of axes
  const goals = Object.keys(objectives).filter((key) => figureOf[key]);
  const firstGoal = goals[0] || (figures[0] || {}).key, secondGoal = goals[1] || (figures.find((f) => f.key !== firstGoal) || {key: firstGoal}).key;
  const numbered = knobs.filter((knob) => knob.values.length > 1);
  const firstKnob = (numbered.find((knob) => knob.isNumber) || numbered[0] || {path: ""}).path;
  const secondKnob = (numbered.find((knob) => knob.path !== firstKnob) || {path: firstKnob}).path;
  const NONE = {path: "", label: "none"};
  const choices = {
    pareto: {x: [figures, firstGoal], y: [figures, secondGoal], colour: [[...numbered, NONE, ...figures], columns.device.some((d) => d !== columns.device[0]) ? "device" : firstKnob]},
    response: {knob: [numbered, firstKnob], figure: [figures, firstGoal], colour: [[...numbered, NONE], secondKnob === firstKnob ? "" : secondKnob]},
    heat: {across: [numbered, firstKnob], up: [numbered, secondKnob], figure: [figures, firstGoal]},
  };
  const axes = {};
  function selects() {
    for (const select of document.querySelectorAll("select[data-view]")) {
      const {view, axis} = select.dataset, [options, first] = choices[view][axis];
      for (const option of options) select.add(new Option(option.label, option.key ?? option.path, false, (option.key ?? option.path) === first));
      (axes[view] ||= {})[axis] = first;
      select.addEventListener("change", () => { axes[view][axis] = select.value; redraw(view); });
    }
  }

  // ---- the front
  function front(rows, x, y) {
    const sign = (name) => objectives[name] === "max" ? -1 : 1;
    const usable = rows.filter((row) => columns.feasible[row] && columns[x][row] !== null && columns[y][row] !== null);
    usable.sort((a, b) => sign(x) * (columns[x][a] - columns[x][b]) || sign(y) * (columns[y][a] - columns[y][b]));
    const kept = [];
    let best = Infinity;
    for (const row of usable) if (sign(y) * columns[y][row] < best) { best = sign(y) * columns[y][row]; kept.push(row); }
    return kept;
  }

  // ---- views
  const react = (element, traces, layout, height) => Plotly.react(element, coloured(traces), layoutOf({layout, narrow: {}}, height), CONFIG);
  const nothing = (element, reason, height) => react(element, [], {xaxis: {visible: false}, yaxis: {visible: false},
    annotations: [{text: plain(reason), showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5, font: {color: "@muted", size: 13}}]}, height);
  const groupColour = (name, value, index) => name === "device" ? data.colours[value] || PALETTE[index % PALETTE.length] : PALETTE[index % PALETTE.length];
  function grouped(rows, name) {
    if (!name || !knobOf[name]) return [{label: "", rows, colour: "#3F4CC0"}];
    return knobOf[name].values.map((value, index) => ({label: String(value), colour: groupColour(name, value, index), rows: rows.filter((row) => columns[name][row] === value)}))
      .filter((group) => group.rows.length);
  }
  function points(rows, x, y, marker, label) {
    return {type: "scatter", mode: "markers", name: plain(label), showlegend: Boolean(label), x: rows.map((row) => at(x, row)), y: rows.map((row) => at(y, row)),
      customdata: rows, marker: {size: 7, ...marker}, hovertext: rows.map((row) => hover(row, [x, y])), hoverinfo: "text"};
  }
  const views = {
    pareto(element, figure) {
      const {x, y, colour} = axes.pareto, height = figure.height;
      if (!shown.length || !x) return nothing(element, "No row is left.", height);
      const faded = (rows) => rows.map((row) => columns.feasible[row] ? 1 : 0.25);
      const traces = figureOf[colour]
        ? [points(shown, x, y, {color: shown.map((row) => columns[colour][row]), colorscale: SCALE, showscale: true, opacity: faded(shown), colorbar: {title: {text: title(colour), side: "right"}, thickness: 12}}, "")]
        : grouped(shown, colour).map((group) => points(group.rows, x, y, {color: group.colour, opacity: faded(group.rows)}, group.label));
      const best = front(shown, x, y);
      traces.push({type: "scatter", mode: "lines", x: best.map((row) => columns[x][row]), y: best.map((row) => columns[y][row]), line: {color: "@ink", width: 1, shape: objectives[x] === "max" ? "vh" : "hv"}, hoverinfo: "skip", name: "Pareto front", showlegend: true});
      if (chosen.row !== null && shown.includes(chosen.row)) traces.push({...points([chosen.row], x, y, {size: 13, color: "rgba(0,0,0,0)", line: {color: "@ink", width: 2}}, "")});
      return react(element, traces, {xaxis: {title: {text: title(x)}, automargin: true}, yaxis: {title: {text: title(y)}, automargin: true}}, height);
    },
    parallel(element, figure) {
      const names = [...numbered.map((knob) => knob.path), ...goals];
      if (!shown.length || names.length < 2) return nothing(element, shown.length ? "There is one axis only." : "No row is left.", figure.height);
      const ends = Object.fromEntries(names.map((name) => {
        const values = (knobOf[name] ? knobOf[name].at : columns[name]).filter((value) => value !== null);
        return [name, [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)]];
      }));
      const height = (name, value) => value === null ? null : ends[name][1] > ends[name][0] ? (value - ends[name][0]) / (ends[name][1] - ends[name][0]) : 0.5;
      const rows = shown.length > 3000 ? shown.filter((row, i) => columns.pareto[row] || i % Math.ceil(shown.length / 3000) === 0) : shown;
      const lines = (some, line, opacity) => ({type: "scatter", mode: "lines", connectgaps: false, showlegend: false, line, opacity, hoverinfo: "skip",
        x: some.flatMap(() => [...names.keys(), null]), y: some.flatMap((row) => [...names.map((name) => height(name, at(name, row))), null])});
      const front = rows.filter((row) => columns.pareto[row]), rest = rows.filter((row) => !columns.pareto[row]);
      const traces = [lines(rest, {color: "#999999", width: 1}, 0.35), lines(front, {color: "#0072B2", width: 1.5}, 0.9)];
      if (chosen.row !== null && shown.includes(chosen.row)) traces.push(lines([chosen.row], {color: "#D55E00", width: 3}, 1));
      const stride = (length) => Math.max(1, Math.ceil(length / 9));
      const labels = names.flatMap((name, i) => {
        const knob = knobOf[name];
        const marks = knob ? knob.values.map((value, k) => [height(name, knob.at[k]), String(value)]).filter((mark, k) => k % stride(knob.values.length) === 0)
          : [0, 0.5, 1].map((share) => [share, si(Number((ends[name][0] + share * (ends[name][1] - ends[name][0])).toPrecision(3)), figureOf[name].unit)]);
        return marks.map(([y, word]) => ({x: i, y, text: plain(word), showarrow: false, xanchor: "left", xshift: 4, font: {size: 11, color: "@muted"}, bgcolor: "@paper", opacity: 0.85}));
      });
      const layout = {annotations: labels, margin: {l: 20, r: 70, t: 12, b: 48},
        shapes: names.map((_, i) => ({type: "line", x0: i, x1: i, y0: -0.02, y1: 1.02, line: {color: "@ink", width: 1}})),
        xaxis: {tickvals: [...names.keys()], ticktext: names.map((name) => plain(axisOf(name).label)), showgrid: false, zeroline: false, range: [-0.1, names.length - 0.7]},
        yaxis: {visible: false, range: [-0.06, 1.06]}};
      return react(element, traces, layout, figure.height);
    },
    response(element, figure) {
      const {knob, figure: name, colour} = axes.response;
      if (!shown.length || !knob) return nothing(element, shown.length ? "No knob has two values." : "No row is left.", figure.height);
      const median = (values) => { const sorted = values.filter((v) => v !== null).sort((a, b) => a - b); return sorted.length ? sorted[sorted.length >> 1] : null; };
      const traces = grouped(shown, colour).flatMap((group) => {
        const xs = knobOf[knob].at.filter((_, k) => group.rows.some((row) => columns[knob][row] === knobOf[knob].values[k]));
        const ys = xs.map((x) => median(group.rows.filter((row) => at(knob, row) === x).map((row) => columns[name][row])));
        return [points(group.rows, knob, name, {color: group.colour, size: 5, opacity: 0.5}, ""),
          {type: "scatter", mode: "lines", x: xs, y: ys, name: plain(group.label), showlegend: Boolean(group.label), line: {color: group.colour, width: 2}, hoverinfo: "skip"}];
      });
      const few = knobOf[knob].values.length <= 12;
      return react(element, traces, {xaxis: {title: {text: plain(title(knob))}, automargin: true, ...(few || !knobOf[knob].isNumber ? ticks(knobOf[knob]) : {})},
        yaxis: {title: {text: title(name)}, rangemode: "tozero", automargin: true}}, figure.height);
    },
    heat(element, figure) {
      const {across, up, figure: name} = axes.heat;
      if (!shown.length || !across || across === up) return nothing(element, shown.length ? "Choose two different knobs." : "No row is left.", figure.height);
      const better = objectives[name] === "max" ? Math.max : Math.min;
      const cells = knobOf[up].values.map(() => knobOf[across].values.map(() => null)), rows = cells.map((line) => line.map(() => null));
      for (const row of shown) {
        const i = place[up].get(columns[up][row]), j = place[across].get(columns[across][row]), value = columns[name][row];
        if (value === null) continue;
        if (cells[i][j] === null || better(value, cells[i][j]) === value && value !== cells[i][j]) { cells[i][j] = value; rows[i][j] = row; }
      }
      const words = rows.map((line) => line.map((row) => row === null ? "" : hover(row, [name])));
      const short = cells.map((line) => line.map((value) => value === null ? "" : figureOf[name].unit ? si(value, figureOf[name].unit) : String(Number(value.toPrecision(3)))));
      const many = cells.length * cells[0].length > 120;
      const traces = [{type: "heatmap", z: cells, x: knobOf[across].values.map((v) => plain(v)), y: knobOf[up].values.map((v) => plain(v)), customdata: rows, hovertext: words, hoverinfo: "text",
        colorscale: SCALE, xgap: 1, ygap: 1, colorbar: {thickness: 12, title: {text: title(name), side: "right"}}, ...(many ? {} : {text: short, texttemplate: "%{text}"})}];
      return react(element, traces, {xaxis: {type: "category", title: {text: plain(knobOf[across].label)}, automargin: true, showgrid: false}, yaxis: {type: "category", title: {text: plain(knobOf[up].label)}, automargin: true, showgrid: false}}, figure.height);
    },
  };
  const redraw = (view) => socsim.draw(document.getElementById(`plot-study-${view}`));
  function refresh() { keep(); for (const view of Object.keys(views)) redraw(view); }

  // ---- details
  function show(row) {
    chosen.row = row;
    const box = document.getElementById("study-details"), table = document.createElement("table");
    table.className = "numbers";
    const body = table.createTBody();
    for (const name of Object.keys(columns)) {
      const line = body.insertRow(), head = document.createElement("th");
      head.textContent = name;
      line.append(head);
      line.insertCell().textContent = typeof columns[name][row] === "boolean" ? (columns[name][row] ? "yes" : "no") : text(name, row);
    }
    const scroll = document.createElement("div");
    scroll.className = "scroll tall";
    scroll.append(table);
    box.replaceChildren(scroll);
    redraw("pareto"); redraw("parallel");
  }
  function listen(view) {
    const element = document.getElementById(`plot-study-${view}`);
    if (!element || element.studyWired || !element.on) return;
    element.studyWired = true;
    element.on("plotly_click", (event) => {
      const row = event.points[0] && event.points[0].customdata;
      if (typeof row === "number") show(row);
    });
  }
  function failures() {
    const box = document.getElementById("study-failed"), section = document.getElementById("failed");
    if (!data.failed.length) { section.hidden = true; document.querySelector('nav a[href="#failed"]').parentElement.hidden = true; return; }
    const table = document.createElement("table");
    for (const {where: place, reason} of data.failed) { const line = table.insertRow(); line.insertCell().textContent = place; line.insertCell().textContent = reason; }
    const scroll = document.createElement("div");
    scroll.className = "scroll tall"; scroll.append(table); box.append(scroll);
  }

  filters(); selects(); failures(); keep();
  for (const [view, draw] of Object.entries(views)) {
    socsim.custom[`study-${view}`] = async (element, figure) => { const drawn = await draw(element, figure); listen(view); return drawn; };
  }
  socsim.study = {show, shown: () => shown, axes};
})();
