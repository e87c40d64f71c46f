"use strict";
// Turns knobs into questions, one per device, and draws the answers; a newer question makes older answers void.
(() => {
  const data = JSON.parse(document.getElementById("socsim-explore").textContent);
  const byId = (id) => document.getElementById(id);
  const inputs = [...document.querySelectorAll("[data-knob]")];
  const answers = {};     // device -> latest answer
  const first = {};       // device -> the answer before any knob was turned
  const PAUSE_MS = 40;
  let asked = 0, timer = 0, pending = null;

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };

  // ---- questions
  const positions = () => Object.fromEntries(inputs
    .map((input) => [input.dataset.knob, Number(input.value)])
    .filter(([name, position]) => position !== data.knobs[name].start));

  async function ask(device, knobs, signal) {
    const response = await fetch("simulate", {
      method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({device, knobs}), signal,
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error || response.statusText);
    return answer;
  }

  async function refresh() {
    const mine = ++asked, start = performance.now(), knobs = positions();
    if (pending) pending.abort();
    pending = new AbortController();
    say("simulating");
    document.documentElement.dataset.settled = "no";
    byId("results").classList.toggle("stale", Object.keys(answers).length > 0);
    try {
      for (const device of data.devices) {
        const answer = await ask(device, knobs, pending.signal);
        if (mine !== asked) return;
        answers[device] = answer;
        if (!Object.keys(knobs).length) first[device] = answer;
        draw();
        byId("command").textContent = answer.command;
      }
      const seconds = (performance.now() - start) / 1000;
      say(`simulated ${data.devices.length === 1 ? "" : data.devices.length + " devices "}in ${seconds.toFixed(2)} s`);
      byId("results").classList.remove("stale");
      document.documentElement.dataset.settled = "yes";
    } catch (error) {
      if (error.name === "AbortError" || mine !== asked) return;
      say(error instanceof TypeError ? "socsim has ended: start `socsim explore` again" : error.message, true);
    }
  }

  function say(text, failed = false) {
    byId("status").textContent = text;
    byId("status").classList.toggle("failed", failed);
  }

  // ---- answers
  const shown = () => data.devices.map((device) => answers[device]).filter(Boolean);
  const started = (answer) => first[answer.device] && first[answer.device].ok ? first[answer.device] : null;

  function draw() {
    const remarks = shown().flatMap((answer) => answer.remarks || []);
    byId("devices").replaceChildren(table(), ...remarks.map((text) => make("p", {class: "caption"}, text)));
    for (const phase of ["prefill", "decode"]) {
      byId(phase).replaceChildren(...stacks((answer) => answer.time[phase], phase));
    }
    byId("energy").replaceChildren(...stacks((answer) => answer.energy, "energy"));
    drawLegends();
  }

  function table() {
    const head = make("tr", {}, make("th", {scope: "col"}, "Device"),
      ...data.figures.map((figure) => make("th", {scope: "col"}, figure.title)), make("th", {scope: "col"}, "Bound by"));
    const body = make("tbody", {}, ...shown().map(row));
    return make("div", {class: "scroll"}, make("table", {class: "devices"}, make("thead", {}, head), body));
  }

  function row(answer) {
    const swatch = make("i", {class: "swatch", style: `background:${answer.colour || "#999999"}`});
    const name = make("th", {scope: "row"}, swatch, answer.label || answer.device);
    if (!answer.ok) {
      return make("tr", {}, name, make("td", {class: "reason", colspan: data.figures.length + 1}, answer.reason));
    }
    const bound = make("td", {class: "bound"}, `prefill: ${answer.bound.prefill || "-"}`, make("br"), `decode: ${answer.bound.decode || "-"}`);
    return make("tr", {}, name, ...data.figures.map((figure) => cell(answer, figure)), bound);
  }

  function cell(answer, figure) {
    const {value, text, interval, interval_text: range} = answer.figures[figure.key];
    if (value === null) return make("td", {class: "unknown"}, text === "unknown" ? text : "none");
    const before = started(answer) ? started(answer).figures[figure.key].value : null;
    const all = shown().flatMap((other) => [other, started(other)]).filter((other) => other && other.ok);
    const reach = (known) => Math.max(known.value || 0, ...(known.interval || []));
    const scale = Math.max(...all.map((other) => reach(other.figures[figure.key]))) || 1;
    const bar = make("span", {class: "bar"}, make("i", {style: `width:${100 * value / scale}%;background:${answer.colour}`}));
    if (before) bar.append(make("i", {class: "tick", style: `left:calc(${100 * before / scale}% - 1px)`}));
    if (interval) {
      const [low, high] = interval.map((end) => 100 * end / scale);
      bar.append(make("i", {class: "whisker", style: `left:${low}%;width:${high - low}%`}));
      bar.title = `80 % interval: ${range}`;
    }
    const change = make("span", {class: "change"}, changeText(value, before));
    return make("td", {"data-figure": figure.key}, make("b", {}, text), " ", change, bar);
  }

  function changeText(value, before) {
    if (!before || Math.abs(value / before - 1) < 0.005) return "";
    const ratio = value / before;
    if (ratio >= 0.5 && ratio < 2) return `${ratio > 1 ? "+" : "\u2212"}${Math.abs(100 * (ratio - 1)).toFixed(0)} %`;
    return `${ratio.toFixed(ratio < 10 ? 2 : 0)}x`;
  }

  function stacks(barsOf, name) {
    const runs = shown().filter((answer) => answer.ok);
    const total = (answer) => barsOf(answer).reduce((sum, bar) => sum + bar.value, 0);
    const starts = runs.map(started).filter(Boolean);
    const scale = Math.max(...[...runs, ...starts].map(total));
    if (!runs.length) return [make("p", {class: "nothing"}, "No device can run this.")];
    if (!(scale > 0)) return [make("p", {class: "nothing"}, runs.some((answer) => barsOf(answer).length) ? "None." : "Unknown: an energy coefficient of the platform is.")];
    return runs.map((answer) => {
      const track = make("div", {class: "track"}, ...barsOf(answer).filter((bar) => bar.value > 0).map((bar) => make("i", {
        style: `width:${100 * bar.value / scale}%;background:${bar.colour}`,
        title: `${bar.name}: ${bar.text}, ${Math.round(100 * bar.value / total(answer))} %`,
      })));
      if (started(answer)) track.append(make("i", {class: "tick", style: `left:calc(${100 * total(started(answer)) / scale}% - 1px)`}));
      return make("div", {class: "stack"}, make("span", {}, answer.label), track, make("span", {}, answer.totals[name]));
    });
  }

  function drawLegends() {
    const run = shown().find((answer) => answer.ok);
    if (!run) return;
    const entry = (bar) => make("li", {}, make("i", {class: "swatch", style: `background:${bar.colour}`}), bar.name);
    byId("work").replaceChildren(...run.time.prefill.map(entry));
    byId("parts").replaceChildren(...run.energy.map(entry));
  }

  // ---- knobs
  function mark(input) {
    const {start, labels} = data.knobs[input.dataset.knob];
    const position = Number(input.value), box = input.closest(".knob"), output = box.querySelector("output");
    if (output) output.textContent = labels[position];
    input.setAttribute("aria-valuetext", labels[position]);
    box.classList.toggle("turned", position !== start);
  }
  function turned(event) {
    mark(event.target);
    clearTimeout(timer);
    timer = setTimeout(refresh, PAUSE_MS);
  }
  for (const input of inputs) { input.addEventListener("input", turned); mark(input); }
  byId("reset").addEventListener("click", () => {
    for (const input of inputs) { input.value = data.knobs[input.dataset.knob].start; mark(input); }
    refresh();
  });
  refresh();
})();
