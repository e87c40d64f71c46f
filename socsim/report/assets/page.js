"use strict";
// Draws every figure of the page, keeps devices, pointers and zoom in step, follows light and dark, filters tables.
const socsim = (() => {
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("socsim-figures").textContent);
  const data = JSON.parse(document.getElementById("socsim-page-data").textContent);
  const plots = [...document.querySelectorAll(".plot")];
  const custom = {};       // plot name -> function(element, spec, run) that draws it in place of `draw`
  const chosen = {run: null};
  const COLOURS = ["ink", "muted", "rule", "paper", "faint", "accent"];
  const CONFIG = {
    displaylogo: false, responsive: true, showTips: false, doubleClick: "reset",
    modeBarButtonsToRemove: ["sendChartToCloud", "lasso2d", "select2d", "autoScale2d"],
  };
  let theme = {};

  // ---- binary data
  async function unzipped(base64) {
    const text = atob(base64.trim());
    const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }
  const blob = (name) => {
    const element = [...document.querySelectorAll("script[data-blob]")].find((e) => e.dataset.blob === name);
    return element ? unzipped(element.textContent) : null;
  };

  // ---- theme
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  function readTheme() {
    const style = getComputedStyle(root);
    theme = Object.fromEntries(COLOURS.map((name) => ["@" + name, style.getPropertyValue("--" + name).trim()]));
    const toggle = document.querySelector("[data-theme-toggle]");
    if (toggle) { toggle.textContent = isDark() ? "Light" : "Dark"; toggle.setAttribute("aria-pressed", String(isDark())); }
  }
  function coloured(value) {
    if (typeof value === "string") return value[0] === "@" ? theme[value] || value : value;
    if (Array.isArray(value)) return value.map(coloured);
    if (value && typeof value === "object" && !ArrayBuffer.isView(value)) {
      if (value.bdata) return value;
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, coloured(item)]));
    }
    return value;
  }

  // ---- figures
  const isNarrow = () => innerWidth <= 800;
  const coarse = () => matchMedia("(pointer: coarse)").matches || isNarrow();
  function axisLook(axis) {
    return {
      gridcolor: theme["@rule"], linecolor: theme["@rule"], color: theme["@muted"], tickfont: {size: 11}, ...axis,
      title: {standoff: 8, font: {size: 12}, ...axis.title},
    };
  }
  function layoutOf(figure, height) {
    const layout = coloured({...figure.layout, ...(isNarrow() ? figure.narrow : {})});
    const axes = Object.keys(layout).filter((key) => /^[xy]axis/.test(key));
    for (const key of axes) layout[key] = axisLook(layout[key]);
    return {
      height, autosize: true, margin: {l: 8, r: 14, t: 12, b: 34}, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: {family: getComputedStyle(document.body).fontFamily, size: 12, color: theme["@ink"]},
      hoverlabel: {bgcolor: theme["@paper"], bordercolor: theme["@muted"], font: {size: 12, color: theme["@ink"]}, namelength: -1},
      dragmode: coarse() ? false : "zoom", uirevision: "same", ...layout,
      legend: {orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: {size: 12}, ...layout.legend},
    };
  }
  function specOf(element) {
    const known = figures[element.dataset.plot];
    const figure = known.figures[chosen.run] || known.figures[""] || Object.values(known.figures)[0];
    return {figure, link: known.link};
  }
  function draw(element) {
    const {figure} = specOf(element);
    element.style.height = figure.height + "px";
    const special = custom[element.dataset.plot];
    if (special && figure.layout.annotations === undefined) return special(element, figure, chosen.run);
    return Plotly.react(element, coloured(figure.data), layoutOf(figure, figure.height), CONFIG);
  }
  const pause = () => new Promise((resolve) => setTimeout(resolve, 0));
  async function drawAll(elements) {
    for (const element of elements) {
      await draw(element);
      if (!element.socsimWired) wire(element);
      await pause();  // clicks and scrolling come between two figures
    }
  }

  // ---- plots over the same time: one pointer, one zoom
  let following = false;
  function linked(element) {
    const link = specOf(element).link;
    return link ? plots.filter((other) => other !== element && other.data && specOf(other).link === link) : [];
  }
  function wire(element) {
    element.socsimWired = true;
    if (!specOf(element).link || !element.on) return;
    element.on("plotly_hover", (event) => {
      if (following || !event.points.length) return;
      following = true;
      for (const other of linked(element)) if (other.data.length) Plotly.Fx.hover(other, {xval: event.points[0].x}, "xy");
      following = false;
    });
    element.on("plotly_unhover", () => linked(element).forEach((other) => Plotly.Fx.unhover(other)));
    element.on("plotly_relayout", async (change) => {
      if (following) return;
      const range = change["xaxis.range"] || (change["xaxis.range[0]"] !== undefined ? [change["xaxis.range[0]"], change["xaxis.range[1]"]] : null);
      if (!range && !change["xaxis.autorange"]) return;
      following = true;
      for (const other of linked(element)) if (other.data.length) await Plotly.relayout(other, range ? {"xaxis.range": range} : {"xaxis.autorange": true});
      following = false;
    });
  }

  // ---- the device switch
  function choose(run) {
    chosen.run = run;
    for (const button of document.querySelectorAll("[data-switch]")) button.setAttribute("aria-pressed", String(button.dataset.switch === run));
    for (const element of document.querySelectorAll("[data-run]")) element.hidden = element.dataset.run !== run;
  }
  function firstRun() {
    const runs = Object.values(figures).flatMap((known) => Object.keys(known.figures)).filter((run) => run);
    return data && runs.includes(data.run) ? data.run : runs[0] || "";
  }

  // ---- tables
  function filterTable(id) {
    const table = document.getElementById(id);
    const words = document.querySelector(`[data-filter="${id}"]`).value.toLowerCase().split(/\s+/).filter(Boolean);
    const status = document.querySelector(`[data-filter-status="${id}"]`)?.value || "";
    let count = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !(words.every((word) => text.includes(word)) && (!status || row.dataset.status === status));
      count += !row.hidden;
    }
    const output = document.querySelector(`[data-filter-count="${id}"]`);
    if (output) output.textContent = `${count} of ${table.tBodies[0].rows.length} shown`;
  }

  // ---- numbers: three significant digits and a prefix
  function si(value, unit) {
    if (value === 0) return `0 ${unit}`;
    const prefixes = ["p", "n", "µ", "m", "", "k", "M", "G", "T", "P"];
    let index = Math.min(Math.max(Math.floor(Math.log10(Math.abs(value)) / 3 + 1e-9) + 4, 0), prefixes.length - 1);
    if (Math.abs(Number((value / 10 ** (3 * (index - 4))).toPrecision(3))) >= 1000) index = Math.min(index + 1, prefixes.length - 1);
    return `${Number((value / 10 ** (3 * (index - 4))).toPrecision(3))} ${prefixes[index]}${unit}`;
  }
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  // ---- the page
  function markSection() {
    const links = [...document.querySelectorAll("nav a")];
    const sections = links.map((link) => document.getElementById(link.hash.slice(1)));
    const past = sections.filter((section) => section.getBoundingClientRect().top < innerHeight / 3);
    links.forEach((link, i) => link.toggleAttribute("aria-current", i === Math.max(past.length - 1, 0)));
  }
  function listen() {
    document.addEventListener("click", async (event) => {
      const target = event.target.closest("button");
      if (!target) return;
      if (target.dataset.switch !== undefined) { choose(target.dataset.switch); await drawAll(plots.filter((p) => Object.keys(figures[p.dataset.plot].figures).length > 1)); }
      if (target.dataset.themeToggle !== undefined) {
        root.dataset.theme = isDark() ? "light" : "dark";
        try { localStorage.setItem("socsim-theme", root.dataset.theme); } catch (error) { /* private mode */ }
        readTheme(); await drawAll(plots);
      }
    });
    document.addEventListener("input", (event) => {
      const id = event.target.dataset.filter || event.target.dataset.filterStatus;
      if (id) filterTable(id);
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readTheme(); drawAll(plots); });
    addEventListener("scroll", markSection, {passive: true});
    let wasNarrow = isNarrow();
    addEventListener("resize", () => { if (isNarrow() !== wasNarrow) { wasNarrow = isNarrow(); drawAll(plots); } });
    let before;
    addEventListener("beforeprint", () => {
      before = root.dataset.theme;
      root.dataset.theme = "light"; readTheme();
      for (const element of plots) { draw(element); if (element.layout) Plotly.relayout(element, {width: 690, autosize: false}); }
    });
    addEventListener("afterprint", () => {
      if (before) root.dataset.theme = before; else delete root.dataset.theme;
      readTheme();
      for (const element of plots) { if (element.layout) Plotly.relayout(element, {width: null, autosize: true}); draw(element); }
    });
  }
  async function start() {
    readTheme(); choose(firstRun()); listen(); markSection();
    const source = document.getElementById("plotly-source");
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(await unzipped(source.textContent));
    document.head.append(script);
    source.remove();
    await drawAll(plots);
    root.dataset.drawn = "all";
  }
  function trouble(error) {
    const element = document.getElementById("trouble");
    element.hidden = false;
    element.textContent = typeof DecompressionStream === "undefined" ? "This browser is too old for this page: it has no DecompressionStream (2023)." : `The plots could not be drawn: ${error}`;
    console.error(error);
  }
  addEventListener("DOMContentLoaded", () => start().catch(trouble));
  return {figures, data, custom, chosen, blob, coloured, layoutOf, CONFIG, si, plain, draw, theme: (name) => theme["@" + name]};
})();
