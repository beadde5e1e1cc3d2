"use strict";
// Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
const colours = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"];
const steps = []; // {say, phase, at: elements of the step}
let step = 0, timer = 0;

const el = (name, cls, text) => {
  const e = document.createElement(name);
  if (cls) e.className = cls;
  if (text !== undefined) e.textContent = text;
  return e;
};
const visible = t => t.replaceAll("\t", "→");

function pairOf(p, placed) {
  const e = el("span", "pair" + (placed ? " placed" : placed === null ? " own" : ""));
  e.style.setProperty("--r", colours[p.r % colours.length]);
  e.append(visible(p.k));
  if (p.v !== "") e.append(el("i", "", " : "), visible(p.v));
  if (placed !== null) e.append(el("span", "to", " →" + p.r));
  return e;
}

// pairsOf is a box of pairs. placed says whether their reduces are known; null: there are none.
function pairsOf(pairs, placed) {
  const box = el("div", "pairs");
  for (const p of pairs) box.append(pairOf(p, placed));
  if (!pairs.length) box.append(el("span", "faint", "nothing"));
  return box;
}

function add(phase, say, ...at) { steps.push({ say, phase, at }); }

const count = (n, what) => n + " " + what + (n === 1 ? "" : "s");

function buildMap(st, m, i, first, second) {
  const task = el("div", "task");
  task.append(el("b", "", "map " + i), el("span", "faint", " reads a split of " + (m.input || "the input")));
  first.append(task);
  add("map", st.name + ": map " + i + " gets a split, " + count(m.records.length, "record") + " of " + (m.input || "the input") + ".", task);
  const mine = [];
  for (const r of m.records) {
    const box = el("div", "record");
    box.append(r.text === "" ? el("span", "faint", "(an empty record)") : el("code", "", visible(r.text)));
    const pairs = pairsOf(r.pairs, st.map_only ? null : false);
    box.append(pairs);
    task.append(box);
    mine.push(...pairs.querySelectorAll(".pair"));
    add("map", "The map function makes " + count(r.pairs.length, "pair") + " of this record" + (st.map_only ? ", which goes straight to the output." : "."), box);
  }
  if (st.map_only) return;
  steps.push({ say: "The partitioner says which reduce each key goes to: the same key always to the same one.", phase: "partition", at: [task], place: mine });
  const sorted = el("div", "task");
  sorted.append(el("b", "", "map " + i));
  second.append(sorted);
  m.spills.forEach((s, k) => {
    const run = el("div", "run");
    run.append(el("span", "faint", (m.spills.length > 1 ? "spill " + (k + 1) : "in memory") + ", sorted" + (st.combine ? " and " + (st.combine === "combine" ? "combined" : "folded by " + st.combine) : "")), pairsOf(s, true));
    sorted.append(run);
    add("sort", (m.spills.length > 1 ? "Here a map has room for " + story.room + " pairs only, to show a spill: " : "") +
      "pairs are sorted by reduce and key" + (st.combine ? ", values of one key become one (" + st.combine + ")" : "") + (m.spills.length > 1 ? ", and written to disk." : "."), run);
  });
  if (m.spills.length > 1) {
    const run = el("div", "run");
    run.append(el("span", "faint", "merged"), pairsOf(m.merged, true));
    sorted.append(run);
    add("merge", "At the end the spills are merged, sorted lists into one" + (st.combine ? ", and equal keys become one again" : "") + ". This is what reduces fetch.", run);
  }
}

function buildReduce(st, r, i, third, fourth) {
  const fold = st.combine && st.combine !== "combine";
  const fetched = el("div", "task");
  fetched.append(el("b", "", "reduce " + i));
  third.append(fetched);
  add("shuffle", "Reduce " + i + " fetches its part of every map's output: only its own keys travel to it.", fetched);
  st.maps.forEach((m, k) => {
    const part = m.merged.filter(p => p.r === i);
    const run = el("div", "run");
    run.append(el("span", "faint", "from map " + k), pairsOf(part, true));
    fetched.append(run);
    add("shuffle", "From map " + k + " come " + count(part.length, "pair") + ", sorted already.", run);
  });
  const task = el("div", "task");
  task.append(el("b", "", "reduce " + i));
  fourth.append(task);
  const from = steps.length;
  for (const g of r.groups) {
    const box = el("div", "group");
    box.append(el("span", "faint", "group "), el("code", "", visible(g.key)), pairsOf(g.in, null), el("span", "faint", "gives"));
    const out = pairsOf(g.out, null);
    out.classList.add("out");
    box.append(out);
    task.append(box);
    add("reduce", fold ? "The lists are merged, and the fold (" + st.combine + ") makes one value of each key as they are. The keys come in order: " + visible(g.key) + "."
      : "The merged keys come in order. All values of " + visible(g.key) + " are one group; the reduce function makes " + count(g.out.length, "pair") + " of " + count(g.in.length, "value") + ".", box);
  }
  if (r.last && r.last.length) {
    const box = el("div", "group");
    const out = pairsOf(r.last, null);
    out.classList.add("out");
    box.append(el("span", "faint", "at the end"), out);
    task.append(box);
    add("reduce", "After its last group the reduce hands over what it has gathered.", box);
  }
  // The box is there with its first group; the last step only points at it.
  if (steps.length > from) steps[from].frame = [task];
  const said = "What reduce " + i + " emitted, in order, is the file part-r-" + String(i).padStart(5, "0") + " of the output.";
  steps.push({ say: said, phase: "output", at: [task], place: steps.length > from ? [] : undefined });
}

for (const st of story.stages) {
  const main = document.getElementById("stages");
  main.append(el("h2", "", st.name));
  const flow = el("div", "flow" + (st.map_only ? " only" : ""));
  const columns = (st.map_only ? ["input and map"] : ["input and map", "sort, spill, merge", "shuffle", "group and reduce"]).map(name => {
    const c = el("div", "column");
    c.append(el("h3", "", name));
    flow.append(c);
    return c;
  });
  main.append(flow);
  st.maps.forEach((m, i) => buildMap(st, m, i, columns[0], columns[1]));
  st.reduces.forEach((r, i) => buildReduce(st, r, i, columns[2], columns[3]));
}

function show(n, move) {
  step = Math.max(0, Math.min(steps.length - 1, n));
  steps.forEach((s, i) => {
    for (const e of s.at) if (!s.place) e.classList.toggle("later", i > step);
    for (const e of s.frame || []) e.classList.toggle("later", i > step);
    for (const e of s.place || []) e.classList.toggle("placed", i <= step);
    for (const e of s.at) e.classList.remove("now");
  });
  const s = steps[step];
  for (const e of s.at) e.classList.add("now");
  document.getElementById("say").textContent = s.say;
  document.getElementById("count").textContent = s.phase + ", step " + (step + 1) + " of " + steps.length;
  document.getElementById("bar").value = step;
  if (move && s.at[0]) s.at[0].scrollIntoView({ block: "nearest", behavior: "instant" });
  history.replaceState(null, "", "#" + (step + 1));
  if (step === steps.length - 1) pause();
}

function pause() {
  clearInterval(timer);
  timer = 0;
  document.getElementById("play").textContent = "play";
}
function play() {
  if (timer) return pause();
  if (step === steps.length - 1) show(0, true);
  document.getElementById("play").textContent = "pause";
  timer = setInterval(() => show(step + 1, true), +document.getElementById("speed").value);
}
function nextPhase() {
  let n = step;
  while (n < steps.length - 1 && steps[n].phase === steps[step].phase) n++;
  show(n, true);
}

const on = (id, what, f) => document.getElementById(id).addEventListener(what, f);
on("bar", "input", e => show(+e.target.value, true));
on("back", "click", () => show(step - 1, true));
on("next", "click", () => show(step + 1, true));
on("play", "click", play);
on("phase", "click", nextPhase);
on("speed", "change", () => { if (timer) { pause(); play(); } });
on("big", "click", () => document.body.classList.toggle("big"));
on("theme", "click", () => {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
});
document.addEventListener("keydown", e => {
  if (["INPUT", "SELECT"].includes(e.target.tagName) && e.key !== "PageDown") return;
  const keys = { ArrowLeft: () => show(step - 1, true), ArrowRight: () => show(step + 1, true), " ": play, PageDown: nextPhase, Home: () => show(0, true), End: () => show(steps.length - 1, true) };
  if (keys[e.key] && !(e.key === " " && e.target.tagName === "BUTTON")) { e.preventDefault(); keys[e.key](); }
});
document.getElementById("bar").max = Math.max(0, steps.length - 1);
// A link can name a step: page.html#12.
const named = () => (parseInt(location.hash.slice(1), 10) || 1) - 1;
addEventListener("hashchange", () => show(named(), true));
if (steps.length) show(named(), named() > 0);
else document.getElementById("say").textContent = "The input has no records: nothing happened.";
