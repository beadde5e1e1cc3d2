// The player: shows one or two recordings on one clock. A recording is described in play/recording.go.

const palette = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a7f00", "#7b5ea7", "#5f6b73", "#a6761d"]; // told apart without seeing red or green
const kinds = ["map", "reduce", "driver"];
const nears = ["on the node of its input", "in the rack of its input", "far from its input", ""];
const doing = ["starts", "stops", "forgets", "admits", "rejects"];
const mostSeats = 60, mostWaiting = 7, momentsOfPage = 100;

const $ = (selector, from = document) => from.querySelector(selector);

// make returns an element with attributes and children; text is text, never markup.
function make(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value !== false) e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

// colour gives a job one of the palette; each time round it is darker, or lighter.
const shades = [0, -0.28, 0.35, -0.5], tints = [];
function colour(job) { return tints[job % (palette.length * shades.length)] ??= tint(job % (palette.length * shades.length)); }
function tint(job) {
  const base = palette[job % palette.length], by = shades[Math.floor(job / palette.length) % shades.length], to = by < 0 ? 0 : 255;
  const part = (at) => { const v = parseInt(base.slice(at, at + 2), 16); return Math.round(v + (to - v) * Math.abs(by)); };
  return `rgb(${part(1)},${part(3)},${part(5)})`;
}

// time says milliseconds as people read them.
function time(ms) {
  const s = ms / 1000;
  if (s < 10) return s.toFixed(2) + " s";
  if (s < 120) return s.toFixed(1) + " s";
  const whole = Math.floor(s), m = Math.floor(whole / 60), h = Math.floor(m / 60), two = (n) => String(n % 60).padStart(2, "0");
  return h ? `${h} h ${two(m)} min ${two(whole)} s` : `${m} min ${two(whole)} s`;
}

function seconds(ms) { const s = ms / 1000; return s >= 100 ? s.toFixed(0) : s >= 10 ? s.toFixed(1) : s.toFixed(2); }

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return (n >= 100 || i === 0 ? n.toFixed(0) : n.toPrecision(3)) + " " + units[i];
}

// many says how many there are of what.
function many(n, what) { return `${n} ${what}${n === 1 ? "" : "s"}`; }

// sums turns differences into places.
function sums(list) {
  const out = new Float64Array(list.length);
  for (let i = 0, at = 0; i < list.length; i++) out[i] = at += list[i];
  return out;
}

// upTo counts the elements of a sorted list that are not above x.
function upTo(list, x) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= x) low = middle + 1; else high = middle;
  }
  return low;
}

// A Run is a recording with what is needed to show any moment of it at once.
class Run {
  constructor(recording) {
    Object.assign(this, recording);
    const a = this.attempts, n = a.job.length;
    a.end = new Float64Array(n);
    this.first = []; // by node: its first cell
    this.cells = 0;
    for (const node of this.nodes) { this.first.push(this.cells); this.cells += node.places; }
    this.lanes = Array.from({ length: this.cells }, () => []);
    this.done = this.jobs.map(() => [[], [], []]);
    this.starts = this.jobs.map(() => []); // of attempts, by job, in order
    this.works = this.jobs.map(() => [[], []]); // starts and ends of its maps and reduces, however they ended
    this.local = [new Int32Array(n + 1), new Int32Array(n + 1)]; // maps so far: on their node, all with input
    for (let i = 0; i < n; i++) {
      a.end[i] = (a.how[i] & 7) === 0 ? Infinity : a.at[i] + a.took[i];
      this.lanes[this.first[a.node[i]] + a.place[i]].push(i);
      this.starts[a.job[i]].push(a.at[i]);
      if (a.kind[i] < 2) { this.works[a.job[i]][0].push(a.at[i]); this.works[a.job[i]][1].push(a.end[i]); }
      if ((a.how[i] & 7) === 1) this.done[a.job[i]][a.kind[i]].push(a.end[i]);
      const counts = a.kind[i] === 0 && a.near[i] < 3 ? 1 : 0;
      this.local[0][i + 1] = this.local[0][i] + (counts && a.near[i] === 0 ? 1 : 0);
      this.local[1][i + 1] = this.local[1][i] + counts;
    }
    const read = [...a.away.keys()].filter((i) => a.away[i] > 0).sort((x, y) => a.end[x] - a.end[y]); // from other racks
    this.readAt = read.map((i) => a.end[i]);
    this.away = sums(read.map((i) => a.away[i]));
    for (const job of [...this.done, ...this.works]) for (const times of job) times.sort((x, y) => x - y);
    this.finish();
  }

  // finish sorts the jobs by their end, with sums of what means are made of.
  finish() {
    this.ended = this.jobs.map((j, i) => i).filter((i) => this.jobs[i].end >= 0 && !this.jobs[i].failed).sort((x, y) => this.jobs[x].end - this.jobs[y].end);
    this.ends = this.ended.map((i) => this.jobs[i].end);
    this.completions = sums(this.ended.map((i) => this.jobs[i].took));
    this.slowdowns = sums(this.ended.map((i) => this.jobs[i].took / Math.max(this.jobs[i].alone || 0, 1)));
    this.knowsAlone = this.jobs.some((j) => j.alone > 0);
    this.submits = this.jobs.map((j) => j.submit).sort((x, y) => x - y);
    const varies = (key) => new Set(this.jobs.map((j) => j[key] || "")).size > 1;
    this.line = varies("queue") ? "queue" : varies("pool") ? "pool" : ""; // what jobs wait in
    this.shown = new Map(); // figures by name: times and values
    for (const f of this.figures || []) {
      if (!this.shown.has(f.name)) this.shown.set(f.name, { at: [], value: [] });
      const list = this.shown.get(f.name);
      list.at.push(f.at); list.value.push(f.value);
    }
  }

  // task names the task of an attempt. In a large recording only those have a number that a decision is about.
  task(i) { const a = this.attempts, kind = kinds[a.kind[i]]; return a.task[i] < 0 ? "a " + kind : `${kind} ${a.task[i]}`; }

  // figure is what a policy showed last, NaN if nothing.
  figure(name, t) {
    const list = this.shown.get(name), n = list ? upTo(list.at, t) : 0;
    return n ? list.value[n - 1] : NaN;
  }

  // waiting lists the jobs that have tasks to start at a time: those that are admitted by queue or pool, each line in the order in which
  // the policy serves them next, and those that are not. A job that is not served again stands behind the others, by its arrival.
  waiting(t) {
    const lines = new Map(), held = [], next = new Map();
    this.jobs.forEach((j, i) => {
      if (j.submit > t || (j.end >= 0 && j.end <= t)) return;
      if (j.admit < 0 || j.admit > t) { held.push(i); return; }
      const n = upTo(this.starts[i], t);
      if (n >= this.starts[i].length && n > 0) return; // all that it starts has started
      const key = (this.line && j[this.line]) || "default";
      next.set(i, n < this.starts[i].length ? this.starts[i][n] : Infinity);
      lines.has(key) ? lines.get(key).push(i) : lines.set(key, [i]);
    });
    const by = (x, y) => (next.get(x) === next.get(y) ? 0 : next.get(x) - next.get(y)) || this.jobs[x].submit - this.jobs[y].submit || x - y;
    for (const list of lines.values()) list.sort(by);
    held.sort((x, y) => this.jobs[x].submit - this.jobs[y].submit || x - y);
    return { lines: [...lines].sort((x, y) => (x[0] < y[0] ? -1 : 1)), held };
  }

  // left is how many tasks of a job neither run nor are done. One that is stopped, and so starts again later, is counted once.
  left(i, t) {
    const [starts, ends] = this.works[i], [maps, reduces] = this.done[i], j = this.jobs[i];
    return Math.max(0, j.maps + j.reduces - upTo(maps, t) - upTo(reduces, t) - (upTo(starts, t) - upTo(ends, t)));
  }

  // admitting is what drivers hold and may hold, null where nobody limits them.
  admitting(t) {
    for (const unit of ["driver-containers", "driver-mb"]) {
      const most = this.figure(unit + "-allowed", t);
      if (!isNaN(most)) return { unit: unit === "driver-mb" ? "MB" : most === 1 ? "container" : "containers", most, held: this.figure(unit, t), drivers: this.figure("drivers", t), marp: this.figure("marp", t) };
    }
    return null;
  }

  // on returns the attempt in a cell at a time, -1 if it is free.
  on(cell, t) {
    const lane = this.lanes[cell], at = this.attempts.at;
    let low = 0, high = lane.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at[lane[middle]] <= t) low = middle + 1; else high = middle;
    }
    return low > 0 && this.attempts.end[lane[low - 1]] > t ? lane[low - 1] : -1;
  }

  // numbers are what the report says at the end, as of a time.
  numbers(t) {
    const n = upTo(this.ends, t), started = upTo(this.attempts.at, t), read = upTo(this.readAt, t);
    return {
      finished: n, completion: n ? this.completions[n - 1] / n / 1000 : NaN, slowdown: n && this.knowsAlone ? this.slowdowns[n - 1] / n : NaN,
      local: this.local[1][started] ? 100 * this.local[0][started] / this.local[1][started] : NaN, away: read ? this.away[read - 1] : 0,
      submitted: upTo(this.submits, t),
    };
  }

  // busy returns how many cells are taken in each of so many periods.
  busy(periods, end) {
    const out = new Float64Array(periods), a = this.attempts;
    for (let i = 0; i < a.at.length; i++) {
      const from = a.at[i] / end * periods, to = Math.min(a.end[i], this.end) / end * periods;
      for (let p = Math.floor(from); p < to && p < periods; p++) out[p] += Math.min(to, p + 1) - Math.max(from, p);
    }
    return out;
  }
}

// A Side is one run on the page.
class Side {
  constructor(run, letter) {
    this.run = run;
    this.marked = -1; // the cell of the decision that is shown
    this.canvas = make("canvas", { role: "img", "aria-label": "machines and what runs on them" });
    this.numbers = make("dl", { class: "numbers" });
    this.jobs = make("table", { class: "jobs" });
    this.decision = make("div", { class: "decision", "aria-live": "polite" });
    const title = run.name + (run.admission ? " with " + run.admission : "");
    this.queues = make("aside", { class: "queues", "aria-label": "who waits" });
    this.seats = make("div", { class: "seats" });
    this.stage = make("div", { class: "stage" }, this.canvas, this.queues);
    this.element = make("article", { class: "side", "data-side": letter }, make("h2", {}, title), this.numbers, this.seats, this.stage, this.decision, this.jobs);
    this.canvas.addEventListener("mousemove", (e) => this.hint(e));
    this.fields = {};
    for (const [key, name] of [["finished", "jobs done"], ["completion", "mean completion"], ["slowdown", "mean slowdown"], ["local", "maps on their node"], ["away", "bytes across racks"], ["busy", "containers busy"], ["waiting", "jobs that run nothing"]]) {
      this.fields[key] = make("dd", { "data-number": key });
      if (key !== "slowdown" || run.knowsAlone) this.numbers.append(make("div", {}, make("dt", {}, name), this.fields[key]));
    }
    this.figures = new Map();
  }

  // layout finds the largest cells with which all racks fit.
  layout() {
    const beside = this.element.clientWidth >= 560; // there is room for the lines of waiting jobs at the side
    this.stage.classList.toggle("wide", beside);
    const width = this.element.clientWidth - 2 - (beside ? this.queues.offsetWidth + 12 : 0), r = this.run, tallest = Math.max(1, ...r.nodes.map((n) => n.places));
    const byRack = r.racks.map(() => []);
    r.nodes.forEach((n, i) => byRack[n.rack].push(i));
    for (let size = 30; size >= 2; size--) {
      const boxes = [];
      let x = 0, y = 0;
      const height = tallest * (size + 1) + 26, gap = Math.max(4, size / 2);
      byRack.forEach((nodes, rack) => {
        const w = Math.max(nodes.length * (size + 3) + 8, 44);
        if (x > 0 && x + w > width) { x = 0; y += height + gap; }
        boxes.push({ rack, nodes, x, y, w, h: height });
        x += w + gap;
      });
      const fits = boxes.every((b) => b.w <= width) && y + height <= 430;
      if (fits || size === 2) return { size, boxes, height: y + height + 2, width, tallest };
    }
  }

  resize() {
    this.plan = this.layout();
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = this.plan.width * scale;
    this.canvas.height = this.plan.height * scale;
    this.canvas.style.height = this.plan.height + "px";
    this.queues.style.maxHeight = this.stage.classList.contains("wide") ? Math.max(150, this.plan.height) + "px" : "";
    this.pen = this.canvas.getContext("2d");
    this.pen.setTransform(scale, 0, 0, scale, 0, 0);
  }

  // draw shows a moment: the machines always, lists only if asked to.
  draw(t, lists) {
    const { run, plan, pen } = this, a = run.attempts, style = colours();
    const runs = new Int32Array(run.jobs.length), drivers = [];
    let busy = 0;
    pen.clearRect(0, 0, plan.width, plan.height);
    pen.font = "11px system-ui, sans-serif";
    const net = this.netAt(t);
    for (const box of plan.boxes) {
      pen.strokeStyle = style.line;
      pen.strokeRect(box.x + 0.5, box.y + 0.5, box.w - 1, box.h - 1);
      pen.fillStyle = style.faint;
      pen.fillText(run.racks[box.rack] || "rack " + box.rack, box.x + 4, box.y + 12, box.w - 8);
      this.drawLink(box, net[box.rack], style);
      box.nodes.forEach((node, column) => {
        const x = box.x + 5 + column * (plan.size + 3);
        for (let place = 0; place < run.nodes[node].places; place++) {
          const cell = run.first[node] + place, i = run.on(cell, t), y = box.y + box.h - 4 - (place + 1) * (plan.size + 1);
          if (i >= 0) { busy++; runs[a.job[i]]++; if (a.kind[i] === 2) drivers.push(a.job[i]); }
          this.drawCell(x, y, i, cell === this.marked, style);
        }
      });
    }
    this.say("busy", `${busy} of ${run.cells}`);
    if (lists) { this.showNumbers(t, runs); this.showWaiting(t, drivers); this.showJobs(t, runs); this.showDecision(t); }
  }

  // drawCell draws a container: full for a map, with a corner cut for a reduce, a ring for a driver.
  drawCell(x, y, i, marked, style) {
    const { pen, plan: { size } } = this, a = this.run.attempts;
    if (i < 0) { pen.fillStyle = style.empty; pen.fillRect(x, y, size, size); } else {
      pen.fillStyle = colour(a.job[i]);
      pen.fillRect(x, y, size, size);
      if (a.kind[i] === 1) { pen.fillStyle = style.back; pen.beginPath(); pen.moveTo(x + size, y); pen.lineTo(x + size, y + size * 0.6); pen.lineTo(x + size * 0.4, y); pen.fill(); }
      if (a.kind[i] === 2) { pen.fillStyle = style.back; pen.fillRect(x + size * 0.3, y + size * 0.3, size * 0.4, size * 0.4); }
      if (a.how[i] & 8) { pen.strokeStyle = style.text; pen.setLineDash([2, 2]); pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1); pen.setLineDash([]); }
    }
    if (marked) { pen.strokeStyle = style.text; pen.lineWidth = 2; pen.strokeRect(x - 1, y - 1, size + 2, size + 2); pen.lineWidth = 1; }
  }

  drawLink(box, load, style) {
    if (!load) return;
    const w = box.w - 8, { pen } = this;
    [load.up, load.down].forEach((share, k) => {
      pen.fillStyle = style.empty;
      pen.fillRect(box.x + 4, box.y + 15 + 4 * k, w, 3);
      pen.fillStyle = load.congested ? style.alarm : style.text;
      pen.fillRect(box.x + 4, box.y + 15 + 4 * k, w * Math.min(1, share / 1000), 3);
    });
  }

  // netAt is the last sample of each rack. Samples come in order, so that the search starts where the last one ended.
  netAt(t) {
    const n = this.run.net, to = upTo(n.at, t);
    if (this.netTo === undefined || to < this.netTo) { this.netTo = 0; this.netNow = []; }
    for (; this.netTo < to; this.netTo++) {
      const i = this.netTo;
      this.netNow[n.rack[i]] = { up: n.up[i], down: n.down[i], congested: n.congested[i] };
    }
    return this.netNow;
  }

  say(key, text) { if (this.fields[key].textContent !== text) this.fields[key].textContent = text; }

  showNumbers(t, runs) {
    const n = this.run.numbers(t), jobs = this.run.jobs;
    let waiting = 0;
    for (let i = 0; i < jobs.length; i++) if (jobs[i].submit <= t && runs[i] === 0 && (jobs[i].end < 0 || jobs[i].end > t)) waiting++;
    this.say("finished", `${n.finished} of ${jobs.length}`);
    this.say("completion", isNaN(n.completion) ? "–" : seconds(n.completion * 1000) + " s");
    this.say("slowdown", isNaN(n.slowdown) ? "–" : n.slowdown.toFixed(2));
    this.say("local", isNaN(n.local) ? "–" : n.local.toFixed(1) + " %");
    this.say("away", bytes(n.away));
    this.say("waiting", String(waiting));
    const drawn = this.run.admitting(t) ? /^(marp|drivers|driver-.*)$/ : /^$/;
    for (const name of this.run.shown.keys()) {
      const value = this.run.figure(name, t);
      if (drawn.test(name) || (isNaN(value) && !this.figures.has(name))) continue;
      if (!this.figures.has(name)) {
        const dd = make("dd");
        this.figures.set(name, dd);
        this.numbers.append(make("div", {}, make("dt", {}, name.replaceAll("-", " ")), dd));
      }
      this.figures.get(name).textContent = isNaN(value) ? "–" : String(Math.round(value * 1000) / 1000);
    }
  }

  // showWaiting lists who waits, line by line, and draws what drivers hold of what they may.
  showWaiting(t, drivers) {
    const { lines, held } = this.run.waiting(t), limit = this.run.admitting(t), parts = [];
    for (const [name, jobs] of lines) parts.push(this.waitingLine(this.run.line ? `${this.run.line} ${name}` : "with tasks to start, next first", jobs, t));
    if (held.length) parts.push(this.waitingLine("not admitted yet", held, t));
    if (!parts.length) parts.push(make("p", { class: "faint" }, "No job has a task to start."));
    this.queues.replaceChildren(...parts);
    this.showSeats(limit, drivers, held);
  }

  waitingLine(title, jobs, t) {
    const list = make("ol"), { jobs: all } = this.run;
    for (const i of jobs.slice(0, mostWaiting)) {
      const j = all[i], left = this.run.left(i, t);
      list.append(make("li", { "data-job": i, title: `${j.name} has ${many(left, "task")} to start` }, make("span", { class: "dot", style: `background:${colour(i)}` }), make("span", { class: "name" }, j.name), make("span", { class: "faint" }, String(left))));
    }
    const more = jobs.length - mostWaiting;
    return make("section", {}, make("h3", {}, title, make("span", { class: "faint" }, ` ${jobs.length}`)), list, more > 0 ? make("p", { class: "faint" }, `and ${more} more`) : "");
  }

  // showSeats draws a seat for each container that drivers may hold: taken in the colour of the job, promised with a frame, or free.
  showSeats(limit, drivers, held) {
    if (!limit) { this.seats.replaceChildren(); return; }
    const { unit, most, marp } = limit, row = make("span", { class: "row", role: "img", "aria-label": `drivers hold ${limit.held} of ${most} ${unit}` });
    if (unit !== "MB" && Math.max(most, limit.held) <= mostSeats) {
      const each = Math.max(1, Math.round(limit.held / (limit.drivers || 1))); // a driver may need several
      for (let k = 0; k < Math.max(most, limit.held); k++) {
        const job = drivers[Math.floor(k / each)], kind = k >= limit.held ? "free" : job !== undefined ? "taken" : "promised";
        row.append(make("span", { class: `seat ${kind}${k >= most ? " over" : ""}`, style: kind === "taken" ? `background:${colour(job)}` : "" }));
      }
    } else row.append(make("span", { class: "bar seatbar" }, make("span", { style: `width:${most ? Math.min(100, 100 * limit.held / most) : 0}%` })));
    const round = (n) => String(Math.round(n));
    this.seats.replaceChildren(make("span", {}, "drivers "), row,
      make("span", {}, ` hold ${round(limit.held)} of ${round(most)} ${unit}`), make("span", { class: "faint" }, (isNaN(marp) ? "" : `, the limit of MARP ${Math.round(marp * 1000) / 1000}`) + (held.length ? `; ${many(held.length, "job")} ${held.length === 1 ? "is" : "are"} held back` : "")));
  }

  showJobs(t, runs) {
    const most = 12, { jobs, done } = this.run, rows = [];
    let more = 0;
    for (let i = 0; i < jobs.length; i++) {
      const j = jobs[i];
      if (j.submit > t || (j.end >= 0 && j.end <= t)) continue;
      if (rows.length >= most) { more++; continue; }
      const maps = Math.min(upTo(done[i][0], t), j.maps), reduces = Math.min(upTo(done[i][1], t), j.reduces);
      const state = j.admit < 0 || j.admit > t ? "waits for admission" : runs[i] ? `${runs[i]} run` : "waits";
      rows.push(make("tr", { "data-job": i },
        make("td", {}, make("span", { class: "dot", style: `background:${colour(i)}` }), j.name),
        make("td", {}, bar(maps, j.maps, colour(i)), ` ${maps}/${j.maps}`),
        make("td", {}, j.reduces ? bar(reduces, j.reduces, colour(i)) : "", j.reduces ? ` ${reduces}/${j.reduces}` : ""),
        make("td", {}, state), make("td", {}, time(t - j.submit))));
    }
    if (more) rows.push(make("tr", {}, make("td", { colspan: 5 }, `and ${more} more`)));
    if (!rows.length) rows.push(make("tr", {}, make("td", { colspan: 5 }, "no job waits or runs")));
    this.jobs.replaceChildren(make("tr", {}, ...["job", "maps done", "reduces done", "now", "since it came"].map((h) => make("th", {}, h))), ...rows);
  }

  // unlisted counts those who waited at a decision beside the first few, which alone are recorded.
  unlisted(others, decisions, k) {
    if (!others || others.length < 2 * this.run.listed) return 0;
    const { lines, held } = this.run.waiting(decisions.at[k]), listed = new Set([decisions.job[k], ...others.filter((_, o) => o % 2 === 0)]);
    return [...lines.flatMap(([, jobs]) => jobs), ...held].filter((i) => !listed.has(i)).length;
  }

  // showDecision tells the last decision: who, where, why, and why nobody else.
  showDecision(t) {
    const r = this.run, d = r.decisions, k = upTo(d.at, t) - 1;
    if (k === this.told) return;
    this.told = k;
    this.marked = -1;
    if (k < 0) { this.decision.replaceChildren(make("p", { class: "faint" }, "Nothing is decided yet.")); return; }
    const i = d.attempt[k], job = r.jobs[d.job[k]], a = r.attempts;
    if (i >= 0) this.marked = r.first[a.node[i]] + a.place[i];
    const what = i >= 0
      ? `${r.task(i)} of ${job.name} on ${r.nodes[a.node[i]].name}` + (a.kind[i] === 0 && nears[a.near[i]] ? ", " + nears[a.near[i]] : "") + (a.how[i] & 8 ? ", a second attempt" : "")
      : job ? job.name : "";
    const others = d.others[k] < 0 ? null : r.others[d.others[k]], list = make("ul");
    for (let o = 0; others && o < others.length; o += 2) {
      if (others[o] === d.job[k]) continue;
      list.append(make("li", {}, make("span", { class: "dot", style: `background:${colour(others[o])}` }), make("b", {}, r.jobs[others[o]].name), ": " + r.texts[others[o + 1]]));
    }
    const more = this.unlisted(others, d, k);
    if (more) list.append(make("li", { class: "faint" }, `and ${more} more`));
    this.decision.replaceChildren(
      make("p", {}, make("span", { class: "faint" }, `decision ${k + 1} of ${d.at.length}${r.every ? " that are kept, every " + r.every + "th," : ","} at ${time(d.at[k])}: `), job ? make("span", { class: "dot", style: `background:${colour(d.job[k])}` }) : "", make("b", {}, `${doing[d.do[k]]} ${what}`)),
      make("p", { class: "why" }, r.texts[d.text[k]]),
      make("p", { class: "faint" }, others === null ? "Who else waited is not known." : list.children.length ? "Who else waited, and why not:" : "Nobody else waited."), list);
  }

  hint(e) {
    const { run, plan } = this, at = this.canvas.getBoundingClientRect(), x = e.clientX - at.left, y = e.clientY - at.top;
    const box = plan.boxes.find((b) => x >= b.x && x < b.x + b.w && y >= b.y && y < b.y + b.h);
    const node = box && box.nodes[Math.floor((x - box.x - 5) / (plan.size + 3))];
    const place = box && Math.floor((box.y + box.h - 4 - y) / (plan.size + 1));
    if (node === undefined || place < 0 || place >= run.nodes[node].places) { this.canvas.title = ""; return; }
    const i = run.on(run.first[node] + place, player.t), a = run.attempts;
    this.canvas.title = run.nodes[node].name + (i < 0 ? ": free" : `: ${run.task(i)} of ${run.jobs[a.job[i]].name} since ${time(player.t - a.at[i])}`);
  }
}

// pairs are the means over the jobs that both runs have finished: of the first and of the second run.
function pairs(x, y, t) {
  const out = { n: 0, completion: [0, 0], slowdown: [0, 0] };
  for (let i = 0; i < x.jobs.length && i < y.jobs.length; i++) {
    const both = [x.jobs[i], y.jobs[i]];
    if (both.some((j) => j.failed || j.end < 0 || j.end > t)) continue;
    out.n++;
    both.forEach((j, k) => { out.completion[k] += j.took; out.slowdown[k] += j.alone ? j.took / j.alone : NaN; });
  }
  for (const key of ["completion", "slowdown"]) out[key] = out[key].map((sum) => (out.n ? sum / out.n : NaN));
  return out;
}

// verdict says by how much the second is better or worse; good is 1 where more is better. Of two shares the difference is in points.
function verdict(v, w, good, share) {
  if (v === w || Math.abs(w - v) < (share ? 0.05 : 0.005 * Math.abs(v))) return "the same"; // less than half a per cent
  const better = (w - v) * good > 0, by = share ? `${Math.abs(w - v).toFixed(1)} points ` : v === 0 ? "" : w >= 2 * v ? `${(w / v).toFixed(w < 10 * v ? 1 : 0)} times as much, ` : `${Math.abs(100 * (w - v) / v).toFixed(0)} % `;
  return make("span", { class: better ? "better" : "worse" }, `${w > v ? "▲" : "▼"} ${by}${better ? "better" : "worse"}`);
}

function bar(done, all, fill) {
  return make("span", { class: "bar" }, make("span", { style: `width:${all ? 100 * done / all : 0}%;background:${fill}` }));
}

// colours are those of the page, light or dark.
let kept = null;
function colours() {
  if (kept) return kept;
  const s = getComputedStyle(document.documentElement), get = (name) => s.getPropertyValue("--" + name).trim();
  return kept = { back: get("back"), text: get("text"), faint: get("faint"), line: get("line"), empty: get("empty"), alarm: get("alarm") };
}

// player is the clock and what hangs on it.
const player = {
  t: 0, playing: false, speed: 1, sides: [], end: 1,

  show(recordings) {
    this.pause();
    this.sides = recordings.map((r, i) => new Side(new Run(r), "AB"[i]));
    this.end = Math.max(1, ...this.sides.map((s) => s.run.end));
    this.base = this.end / 30000; // the whole in half a minute
    $("#sides").replaceChildren(...this.sides.map((s) => s.element));
    $("#sides").className = this.sides.length > 1 ? "two" : "one";
    this.findMoments();
    this.resize();
    this.seek(0);
    performance.mark("first picture");
    document.body.dataset.ready = "yes";
  },

  resize() {
    kept = null;
    for (const s of this.sides) s.resize();
    this.drawBar();
    this.draw(true);
  },

  seek(t) { this.t = Math.max(0, Math.min(this.end, t)); this.draw(true); },

  draw(lists) {
    for (const s of this.sides) s.draw(this.t, lists);
    if (lists) {
      for (const s of this.sides) s.draw(this.t, false); // the cell of the decision, now known
      this.compare();
    }
    $("#now").textContent = time(this.t) + " of " + time(this.end);
    const slider = $("#bar");
    slider.setAttribute("aria-valuenow", Math.round(this.t));
    slider.setAttribute("aria-valuetext", time(this.t));
    $("#hand").style.left = 100 * this.t / this.end + "%";
  },

  // compare says how the second side does against the first, over what both have done.
  compare() {
    const out = $("#difference"), table = $("#against");
    if (this.sides.length < 2) { out.textContent = ""; table.replaceChildren(); return; }
    const [x, y] = this.sides.map((s) => s.run), a = x.numbers(this.t), b = y.numbers(this.t), both = pairs(x, y, this.t);
    const gap = b.finished - a.finished, parts = [];
    parts.push(gap ? `${y.name} has finished ${many(Math.abs(gap), "job")} ${gap > 0 ? "more" : "fewer"} than ${x.name}` : `both have finished ${many(a.finished, "job")}`);
    if (both.n) parts.push(`the ${both.n} that both have finished took ${(both.completion[1] / both.completion[0]).toFixed(2)} times as long on average under ${y.name}`);
    out.textContent = parts.join("; ") + (a.finished || b.finished ? "." : ". Play, or press the end key for the result.");
    const rows = [
      ["completion", "completion of what both have finished", ...both.completion, (v) => seconds(v) + " s", -1],
      ["slowdown", "its slowdown", ...both.slowdown, (v) => v.toFixed(2), -1],
      ["local", "maps on their node", a.local, b.local, (v) => v.toFixed(1) + " %", 1],
      ["away", "bytes across racks", a.away, b.away, bytes, -1]];
    table.replaceChildren(...rows.map(([key, title, v, w, say, good]) => make("div", { "data-against": key }, make("dt", {}, title), make("dd", {}, isNaN(v) || isNaN(w) ? "–" : `${say(v)} → ${say(w)} `, isNaN(v) || isNaN(w) ? "" : verdict(v, w, good, key === "local")))));
  },

  play() { if (this.t >= this.end) this.t = 0; this.playing = true; this.last = undefined; $("#play").textContent = "❚❚ pause"; requestAnimationFrame((now) => this.frame(now)); },
  pause() { this.playing = false; $("#play").textContent = "▶ play"; this.sides.length && this.draw(true); },
  toggle() { this.playing ? this.pause() : this.play(); },

  frame(now) {
    if (!this.playing) return;
    if (this.last !== undefined) this.t += (now - this.last) * this.base * this.speed;
    this.last = now;
    this.frames = (this.frames || 0) + 1;
    if ($("#skip").checked) this.skipIdle();
    if (this.t >= this.end) { this.t = this.end; this.pause(); return; }
    this.draw(this.frames % 6 === 0);
    requestAnimationFrame((next) => this.frame(next));
  },

  // skipIdle jumps over a time in which nothing runs anywhere.
  skipIdle() {
    let next = Infinity;
    for (const { run } of this.sides) {
      for (let c = 0; c < run.cells; c++) if (run.on(c, this.t) >= 0) return;
      const i = upTo(run.attempts.at, this.t);
      if (i < run.attempts.at.length) next = Math.min(next, run.attempts.at[i]);
    }
    if (next !== Infinity) this.t = Math.max(this.t, next);
  },

  // step goes to the next decision of any side, or to the one before.
  step(by) {
    this.pause();
    let to = by > 0 ? this.end : 0;
    for (const { run: { decisions: { at } } } of this.sides) {
      if (by > 0) { const i = upTo(at, this.t); if (i < at.length) to = Math.min(to, at[i]); }
      else { const i = upTo(at, this.t - 1e-6); let k = i - 1; if (k >= 0 && at[k] >= this.t) k--; if (k >= 0) to = Math.max(to, at[k]); }
    }
    this.seek(to);
  },

  drawBar() {
    const canvas = $("#busy"), scale = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight, periods = Math.max(10, Math.min(600, Math.floor(w / 2)));
    canvas.width = w * scale; canvas.height = h * scale;
    const pen = canvas.getContext("2d"), style = colours();
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.sides.forEach(({ run }, k) => {
      const busy = run.busy(periods, this.end), y = (v) => h - 2 - (h - 6) * v / Math.max(1, run.cells);
      pen.beginPath();
      pen.moveTo(0, h - 2);
      busy.forEach((v, i) => { pen.lineTo(i * w / periods, y(v)); pen.lineTo((i + 1) * w / periods, y(v)); });
      pen.lineTo(w, h - 2);
      if (k === 0) { pen.fillStyle = style.empty; pen.fill(); } else { pen.strokeStyle = style.text; pen.stroke(); }
      for (const m of run.marks) drawMark(pen, m.what, m.at / this.end * w, k === 0 ? 0 : 8, h, style);
    });
  },

  // findMoments gathers what can be jumped to: marks, and jobs that come and end, of all sides in order of time.
  findMoments() {
    this.moments = [];
    this.sides.forEach(({ run }, k) => {
      const of = this.sides.length > 1 ? ` (${run.name})` : "";
      for (const m of run.marks) this.moments.push({ at: m.at, what: m.what, text: `${m.what}: ${m.text}${of}` });
      run.jobs.forEach((j) => {
        if (k === 0) this.moments.push({ at: j.submit, what: "job", text: `${j.name} comes` });
        if (j.end >= 0) this.moments.push({ at: j.end, what: "end", text: `${j.name} ${j.failed ? "fails" : "ends"}${of}` });
      });
    });
    this.moments.sort((x, y) => x.at - y.at);
    const has = (what) => this.moments.some((m) => m.what.match(what));
    const kind = $("#what"), all = [["", "any moment"], ["^job$", "a job comes"], ["^end$", "a job ends"], ["^(kill|stop)$", "a kill"], ["^race$", "a slower attempt"], ["^congestion$", "a congestion"], ["^node$", "a machine is lost"], ["^reject$", "a refusal"]];
    kind.replaceChildren(...all.filter(([what]) => has(what)).map(([what, name]) => make("option", { value: what }, name)));
    this.choose();
  },

  // choose keeps the moments that the reader wants, and lists the first page of them.
  choose() {
    const what = new RegExp($("#what").value), word = $("#find").value.trim().toLowerCase();
    this.wanted = this.moments.filter((m) => what.test(m.what) && m.text.toLowerCase().includes(word));
    this.fillPage(0);
  },

  fillPage(from) {
    const n = this.wanted.length, to = Math.min(n, from + momentsOfPage), options = [make("option", { value: "" }, n ? `list: ${from + 1} to ${to} of ${n}` : "nothing is found")];
    if (from > 0) options.push(make("option", { value: "page " + Math.max(0, from - momentsOfPage) }, "◀ earlier ones"));
    for (const m of this.wanted.slice(from, to)) options.push(make("option", { value: m.at }, `${time(m.at)}: ${m.text}`.slice(0, 100)));
    if (to < n) options.push(make("option", { value: "page " + to }, "later ones ▶"));
    $("#jump").replaceChildren(...options);
  },

  // leap goes to the next moment of those that the reader wants, or to the one before.
  leap(by) {
    this.pause();
    const at = this.wanted.map((m) => m.at), i = by > 0 ? upTo(at, this.t) : upTo(at, this.t - 1e-6) - 1;
    if (i < 0 || i >= at.length) return;
    this.seek(at[i]);
    $("#found").textContent = this.wanted[i].text;
  },

  jump(value) {
    const page = /^page (\d+)$/.exec(value);
    if (page) this.fillPage(Number(page[1])); else if (value !== "") { this.pause(); this.seek(Number(value)); }
    $("#jump").value = "";
  },
};

// drawMark draws a moment into the time bar: a bar for a congestion, a wedge for a kill, a dot for the slower of two attempts, a line through all for a lost machine.
function drawMark(pen, what, x, y, h, style) {
  pen.fillStyle = what === "congestion" ? style.alarm : what === "node" ? style.faint : style.text;
  if (what === "congestion") pen.fillRect(x - 0.5, y, 2, 7);
  else if (what === "race") pen.fillRect(x, y, 1, 2);
  else if (what === "node") pen.fillRect(x, 0, 1, h);
  else { pen.beginPath(); pen.moveTo(x - 3, y); pen.lineTo(x + 3, y); pen.lineTo(x, y + 6); pen.fill(); }
}

function wire() {
  $("#play").onclick = () => player.toggle();
  $("#back").onclick = () => player.step(-1);
  $("#next").onclick = () => player.step(1);
  $("#speed").onchange = (e) => { player.speed = Number(e.target.value); };
  $("#jump").onchange = (e) => player.jump(e.target.value);
  $("#what").onchange = $("#find").oninput = () => player.choose();
  $("#prior").onclick = () => player.leap(-1);
  $("#later").onclick = () => player.leap(1);
  $("#theme").onclick = () => { const root = document.documentElement; root.dataset.theme = (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark" ? "light" : "dark"; player.resize(); };
  $("#big").onclick = () => { document.body.classList.toggle("big"); if (document.fullscreenElement) document.exitFullscreen(); else if (document.body.classList.contains("big") && document.documentElement.requestFullscreen) document.documentElement.requestFullscreen().catch(() => {}); player.resize(); };
  const slider = $("#bar"), scrub = (e) => { const at = slider.getBoundingClientRect(); player.seek((e.clientX - at.left) / at.width * player.end); };
  slider.addEventListener("pointerdown", (e) => { player.pause(); slider.setPointerCapture(e.pointerId); scrub(e); });
  slider.addEventListener("pointermove", (e) => { if (e.buttons) scrub(e); });
  document.addEventListener("keydown", (e) => {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
    const does = { " ": () => player.toggle(), ArrowRight: () => player.step(1), ArrowLeft: () => player.step(-1), Home: () => player.seek(0), End: () => player.seek(player.end), PageUp: () => player.seek(player.t - player.end / 50), PageDown: () => player.seek(player.t + player.end / 50), n: () => player.leap(1), p: () => player.leap(-1), f: () => $("#big").click(), d: () => $("#theme").click() }[e.key];
    if (does && !(e.key === " " && e.target.tagName === "BUTTON")) { e.preventDefault(); does(); }
  });
  let waiting = 0;
  addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => player.sides.length && player.resize()); });
}

async function begin() {
  wire();
  const data = $("#data");
  if (!data) return;
  player.show(unpackRecordings(await unzip(Uint8Array.from(atob(data.textContent.trim()), (c) => c.charCodeAt(0)))));
  const moment = /^#t=(\d+(?:\.\d+)?)$/.exec(location.hash); // play.html#t=120 opens at that second
  if (moment) player.seek(1000 * Number(moment[1]));
}
begin();
