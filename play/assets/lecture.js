// Lectures: a text whose figures come from the runs beside it, and charts of sweeps that the server makes when they are asked for.

const metrics = { makespan: ["makespan", "s"], completion: ["mean completion", "s"], slowdown: ["mean slowdown", ""], local: ["maps on their node", "%"] };

// congestion is for how many seconds links of racks were congested.
function congestion(run) {
  const since = [], n = run.net;
  let sum = 0;
  for (let i = 0; i < n.at.length; i++) {
    const r = n.rack[i], is = n.congested[i] === 1;
    if (is && since[r] === undefined) since[r] = n.at[i];
    if (!is && since[r] !== undefined) { sum += n.at[i] - since[r]; since[r] = undefined; }
  }
  return sum / 1000;
}

// figureOf is a number of a run: of its report, or of what the player shows at its end.
function figureOf(run, key) {
  const [what, ...rest] = key.split(" "), name = rest.join(" "), job = run.jobs.find((j) => j.name === name);
  switch (what) {
    case "congestion": return congestion(run);
    case "away": return run.numbers(run.end).away;
    case "took": return job ? (job.end - job.submit) / 1000 : NaN;
    case "spare": return job && job.deadline ? (job.deadline - job.end) / 1000 : NaN;
    default: return run.report && what in run.report ? run.report[what] : NaN;
  }
}

function sayFigure(n, key) {
  if (isNaN(n)) return "–";
  if (key === "away") return bytes(n);
  const size = Math.abs(n);
  return size >= 100 ? n.toFixed(0) : size >= 10 ? n.toFixed(1) : n.toFixed(2);
}

// figureText fills a place of a lecture: "first KEY" and "second KEY" are numbers of the two runs, "times KEY" the second divided by the
// first, "less KEY" by how many percent the second is below it.
function figureText(place, runs) {
  const [of, ...rest] = place.split(" "), key = rest.join(" ");
  if (runs.length < 2 && of !== "first") return "–";
  if (of === "first" || of === "second") return sayFigure(figureOf(runs[of === "first" ? 0 : 1], key), key);
  const [a, b] = runs.map((r) => figureOf(r, key)), n = of === "times" ? b / a : 100 * (1 - b / a);
  return isFinite(n) ? (of === "times" ? n.toFixed(2) : n.toFixed(0)) : "–";
}

// lectureText makes elements of a lecture's text: paragraphs, `code`, and {places} for figures.
function lectureText(text) {
  return text.split("\n\n").map((paragraph) => make("p", {}, ...paragraph.split(/(`[^`]*`|\{[^}]*\})/).map((part) =>
    part.startsWith("`") ? make("code", {}, part.slice(1, -1)) : part.startsWith("{") ? make("b", { class: "figure", "data-figure": part.slice(1, -1) }, "…") : part)));
}

function fillLecture(runs) {
  for (const e of document.querySelectorAll("#lecture [data-figure]")) e.textContent = figureText(e.dataset.figure, runs);
}

function svg(tag, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

// sweepChart draws what each value of a parameter gave. Points can be chosen.
function sweepChart({ title, points, shows, now, choose }) {
  const w = 560, h = 220, left = 58, bottom = 34, right = 14, top = 12, [name, unit] = metrics[shows];
  const ys = points.map((p) => p.report[shows]), high = Math.max(...ys) * 1.08 || 1, step = (w - left - right) / Math.max(1, points.length - 1);
  const x = (i) => left + i * step, y = (v) => h - bottom - (h - top - bottom) * v / high;
  const picture = svg("svg", { viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": `${name} for each ${title}` });
  for (let k = 0; k <= 4; k++) {
    const v = high / 1.08 * k / 4;
    picture.append(svg("line", { x1: left, x2: w - right, y1: y(v), y2: y(v), class: "grid" }), svg("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, sayFigure(v, shows)));
  }
  picture.append(svg("polyline", { points: ys.map((v, i) => `${x(i)},${y(v)}`).join(" "), class: "curve" }));
  const every = Math.ceil(points.length / 8);
  points.forEach((p, i) => {
    const dot = svg("circle", { cx: x(i), cy: y(ys[i]), r: String(p.value) === String(now) ? 6 : 4, class: "point", tabindex: 0, role: "button", "data-value": p.value }, svg("title", {}, `${title} ${p.value}: ${sayFigure(ys[i], shows)} ${unit}`));
    dot.addEventListener("click", () => choose(p.value));
    picture.append(dot);
    if (i % every === 0) picture.append(svg("text", { x: x(i), y: h - bottom + 16, "text-anchor": "middle" }, String(p.value)));
  });
  picture.append(svg("text", { x: (left + w - right) / 2, y: h - 4, "text-anchor": "middle" }, title));
  return make("figure", {}, make("figcaption", {}, `${name}${unit ? ", " + unit : ""}, for each value of ${title}. Choose a point to run it.`), picture);
}
