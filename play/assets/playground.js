// The playground: a scenario, in the form of the files of sim run, is chosen, sent to the server, and played. The scenario is kept
// in the address of the page, so that a link holds all of it.

// stream sends a scenario and reads what the server answers: lines that tell how far it is, then the result.
async function stream(path, scenario, signal, tell) {
  const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(scenario), signal });
  if (!answer.ok) throw new Error((await answer.json()).error);
  const reader = answer.body.getReader(), decoder = new TextDecoder();
  let rest = new Uint8Array(0);
  for (;;) {
    const end = rest.indexOf(10);
    if (end < 0) {
      const { done, value } = await reader.read();
      if (done) throw new Error("the server has gone: is millrace play still running?");
      const more = new Uint8Array(rest.length + value.length);
      more.set(rest); more.set(value, rest.length);
      rest = more;
      continue;
    }
    const line = JSON.parse(decoder.decode(rest.subarray(0, end)));
    rest = rest.subarray(end + 1);
    if (line.error !== undefined) throw new Error(line.error);
    if (line.bytes === undefined) { tell(line); continue; }
    const result = new Uint8Array(line.bytes);
    let at = 0;
    for (let part = rest; ;) {
      result.set(part, at);
      at += part.length;
      if (at >= line.bytes) return result;
      const { done, value } = await reader.read();
      if (done) throw new Error("the server has gone in the middle of its answer");
      part = value;
    }
  }
}

// ranges are what the sliders of a scenario's numbers cover.
const ranges = {
  load: () => new Span(0.1, 3), scale: () => new Span(0.01, 2), racks: () => new Span(1, 20, true), containers: () => new Span(1, 16, true), jobs: () => new Span(1, 500, true),
  nodes: (s) => new Span(s.racks || 8, 25 * (s.racks || 8), true, s.racks || 8), uplink: () => new Span(0.1, 40), nic: () => new Span(0.1, 40), heartbeat: () => new Span(0.1, 10),
};

const playground = {
  scenario: {}, choices: null, under: null,

  async start() {
    this.choices = await (await fetch("choices")).json();
    const linked = location.hash.length > 1 ? this.fromLink() : null;
    if (linked) {
      this.scenario = linked;
      this.show();
      await this.run();
      return;
    }
    const named = this.choices.lectures.find((l) => location.hash === "#lecture=" + l.name); // a link to a lecture
    const broken = location.hash.length > 1 && !named;
    await this.lecture((named ?? this.choices.lectures[0]).name);
    if (broken) $("#problem").textContent = "The link cannot be read: a part of it is lost or changed. Ask for it again; what you see is the first lecture.";
  },

  // fromLink is the scenario that the address holds, null if it holds none.
  fromLink() {
    try {
      const s = JSON.parse(decodeURIComponent(location.hash.slice(1)));
      return Array.isArray(s.policies) && s.policies.every((p) => p && p.policy) && (!s.jobs || Array.isArray(s.jobs)) ? s : null;
    } catch { return null; }
  },

  // show builds the form from the scenario. Each control writes into the scenario.
  show() {
    const s = this.scenario, c = this.choices;
    const lecture = make("select", { id: "lectures", onchange: (e) => this.lecture(e.target.value) }, make("option", { value: "" }, "choose a lecture …"), ...c.lectures.map((l) => make("option", { value: l.name }, l.title)));
    $("#setup").replaceChildren(
      make("div", { class: "row" }, make("label", {}, "lecture", lecture), make("button", { type: "submit", id: "run" }, "run"), make("button", { type: "button", id: "cancel", hidden: "", onclick: () => this.cancel() }, "cancel"), make("progress", { id: "progress", hidden: "", max: 1, value: 0 }), make("button", { type: "button", id: "link", onclick: () => this.copyLink() }, "copy link"), make("button", { type: "button", onclick: () => this.download() }, "save as scenario file"), make("span", { id: "status", role: "status", class: "faint" })),
      make("div", { id: "lecture", hidden: "" }), make("div", { id: "sweep", hidden: "" }), make("p", { id: "problem", role: "alert" }),
      make("div", { class: "columns" }, this.workload(), this.cluster()),
      make("div", { class: "columns" }, ...s.policies.slice(0, 2).map((p, i) => this.side(p, i)), s.policies.length < 2 ? make("div", {}, make("button", { type: "button", onclick: () => { s.policies.push({ policy: "fair" }); this.show(); } }, "compare with a second policy")) : ""));
    $("#setup").onsubmit = (e) => { e.preventDefault(); this.run(); };
    if (s.jobs) this.drawJobs();
  },

  lecture(name) {
    const l = this.choices.lectures.find((x) => x.name === name);
    if (!l) return;
    this.scenario = structuredClone(l.scenario);
    this.show();
    $("#lectures").value = name;
    $("#lecture").hidden = false;
    $("#lecture").replaceChildren(...lectureText(l.text));
    return this.run().then((ran) => { if (ran && l.sweep) this.sweep(l.sweep); });
  },

  // field is a control for a value of the scenario; an empty one leaves it out.
  field(label, key, otherwise, help = "") {
    const s = this.scenario, isTime = key === "heartbeat", units = isTime ? times : plainNumbers;
    const put = (text) => { if (text === "") delete s[key]; else s[key] = isTime || isNaN(Number(text)) ? text : Number(text); };
    const attributes = { "data-key": key, "aria-label": label };
    if (!ranges[key]) {
      const box = make("input", { type: "text", inputmode: "decimal", placeholder: otherwise, title: help, ...attributes });
      box.value = s[key] ?? "";
      box.onchange = () => put(box.value);
      return make("label", { title: help }, label, box);
    }
    return make("label", { title: help }, label, numbered(ranges[key](s), units, { text: String(s[key] ?? ""), usual: otherwise, help, put, attributes }));
  },

  workload() {
    const s = this.scenario, [, model = "fb-2010", count = "100"] = /^gen:/.test(s.trace || "gen:fb-2010:100") ? (s.trace || "gen:fb-2010:100").split(":") : [];
    const file = this.choices.traces.includes(s.trace) ? s.trace : "", option = (value, chosen, text = value) => make("option", { value, selected: chosen ? "" : false }, text);
    const models = make("select", { id: "model" }, ...this.choices.models.map((m) => option(m, !file && !s.jobs && m === model)),
      this.choices.traces.length ? make("optgroup", { label: "traces" }, ...this.choices.traces.map((f) => option("file " + f, f === file, f))) : "", option("drawn", s.jobs, "draw jobs"));
    let many = count;
    const take = () => {
      const chosen = models.value;
      if (chosen === "drawn") { for (const key of ["trace", "load", "scale"]) delete s[key]; s.jobs = s.jobs || []; return; }
      delete s.jobs;
      s.trace = chosen.startsWith("file ") ? chosen.slice(5) : `gen:${chosen}:${many}`;
    };
    models.onchange = () => { take(); this.show(); };
    const jobs = () => make("label", {}, "how many", numbered(ranges.jobs(), plainNumbers, { text: many, usual: "100", put: (v) => { many = v || "100"; take(); }, attributes: { id: "jobs", "aria-label": "how many" } }));
    return make("fieldset", {}, make("legend", {}, "workload"), make("div", { class: "fields" }, make("label", {}, "jobs from", models), s.jobs ? make("button", { type: "button", onclick: () => { s.jobs = []; this.show(); } }, "clear") : file ? "" : jobs(),
      s.jobs ? "" : this.field("load", "load", "as is", "times of arrival are stretched so that the cluster is this busy, such as 0.7"), s.jobs ? "" : this.field("scale", "scale", "1", "factor on all sizes"), this.field("seed", "seed", "1", "another seed, another workload")),
      s.jobs ? make("canvas", { id: "draw", "aria-label": "drag to draw a job: from left to right the time of a map, from bottom to top how many maps" }) : "", s.jobs ? make("p", { class: "faint" }, "Drag in the box: where it begins is when the job comes, its width how long a map takes, its height how many maps there are.") : "");
  },

  cluster() {
    const s = this.scenario, kinds = make("input", { type: "checkbox", id: "classes", onchange: (e) => this.useClasses(e.target.checked) });
    kinds.checked = Boolean(s.classes);
    return make("fieldset", {}, make("legend", {}, "cluster"), make("div", { class: "fields" }, make("label", {}, "several kinds of machine", kinds), s.classes ? "" : this.field("nodes", "nodes", "40", "machines; racks are of equal size"), this.field("racks", "racks", s.classes ? "1" : "8", "racks they stand in"),
      s.classes ? "" : this.field("containers of a node", "containers", "6", "tasks that a machine runs at once"), this.field("Gb/s of a rack's link", "uplink", "no limit", "without it data moves at no cost"), this.field("Gb/s of a node's card", "nic", "no limit", "needs a rack's link"), this.field("heartbeat", "heartbeat", "1s", "how often machines report and are given work")),
      s.classes ? this.classes() : "");
  },

  useClasses(on) {
    const s = this.scenario;
    if (on) {
      s.classes = [{ name: "fast", count: Math.ceil((s.nodes || 40) / 2), containers: s.containers || 6, speed: 1 }, { name: "slow", count: Math.floor((s.nodes || 40) / 2) || 1, containers: s.containers || 6, speed: 0.5 }];
      delete s.nodes;
      delete s.containers;
    } else { s.nodes = s.classes.reduce((n, c) => n + c.count, 0); delete s.classes; }
    this.show();
  },

  // classes is a row for each kind of machine.
  classes() {
    const list = this.scenario.classes, spans = { count: new Span(1, 100, true), containers: new Span(1, 16, true), speed: new Span(0.1, 2) };
    const rows = list.map((c, i) => {
      const name = make("input", { type: "text", "aria-label": "name of the class", "data-class": i });
      name.value = c.name;
      name.onchange = () => { c.name = name.value; };
      return make("div", { class: "fields class" }, make("label", {}, "class", name),
        ...Object.entries(spans).map(([key, span]) => make("label", {}, key, numbered(span, plainNumbers, { text: String(c[key] ?? ""), usual: "1", put: (v) => { if (v === "") delete c[key]; else c[key] = Number(v); }, attributes: { "data-class": i, "data-of": key, "aria-label": `${key} of class ${i + 1}` } }))),
        list.length > 1 ? make("button", { type: "button", onclick: () => { list.splice(i, 1); this.show(); } }, "remove") : "");
    });
    return make("div", {}, ...rows, make("button", { type: "button", onclick: () => { list.push({ name: "class " + (list.length + 1), count: 4, containers: 4, speed: 1 }); this.show(); } }, "one more kind"));
  },

  // side is a policy with all its parameters, and the admission beside it.
  side(plan, i) {
    const box = make("fieldset", { "data-plan": i }, make("legend", {}, i ? "against" : "policy"));
    const choose = (list, value, none, put) => make("select", { onchange: (e) => { put(e.target.value); this.show(); } }, none ? make("option", { value: "" }, none) : "", ...list.map((p) => make("option", { value: p.name, selected: p.name === value ? "" : false }, p.name)));
    const policy = this.choices.policies.find((p) => p.name === plan.policy), admit = plan.admission && this.choices.admissions.find((p) => p.name === plan.admission.policy);
    box.append(make("div", { class: "row" }, choose(this.choices.policies, plan.policy, "", (v) => { plan.policy = v; delete plan.params; delete plan.name; }),
      make("label", {}, "admission", choose(this.choices.admissions, admit && admit.name, "all at once", (v) => { if (v) plan.admission = { policy: v }; else delete plan.admission; }))));
    if (policy) box.append(make("p", { class: "faint" }, policy.summary + " (" + policy.source + ")"), this.params(policy, plan, i, false));
    if (admit) box.append(make("p", { class: "faint" }, admit.summary + " (" + admit.source + ")"), this.params(admit, plan.admission, i, true));
    return box;
  },

  // params are the parameters of a policy, each with what it means. Of a number all that its slider covers can be tried at once.
  params(policy, plan, i, admission) {
    const given = plan.params || {}, box = make("details", { open: Object.keys(given).length ? "" : false }, make("summary", {}, `parameters of ${policy.name} (${policy.params.length})`));
    for (const p of policy.params) {
      if (p.type === "code") { box.open = true; box.append(this.code(p, plan)); continue; }
      const usual = (policy.usual || {})[p.name] ?? p.default, span = spanOf(p, usual);
      const put = (text) => { plan.params = plan.params || {}; if (text === "") delete plan.params[p.name]; else plan.params[p.name] = text; };
      const control = span && span.most > span.least ? numbered(span, unitsOf[p.type], { text: given[p.name] ?? "", usual, help: p.range, put, attributes: { "data-param": p.name } }) : this.choice(p, usual, given[p.name] ?? "", put);
      const tryAll = span && make("button", { type: "button", class: "try", title: `run all values of ${p.name} and draw what each gives`, onclick: () => this.sweep({ plan: i, admission, param: p.name, values: span.values(11).map(unitsOf[p.type].write) }) }, "sweep");
      box.append(make("div", { class: "param" }, make("span", { class: "name" }, p.name), control, tryAll || make("span"), make("span", { class: "faint" }, p.doc)));
    }
    return box;
  },

  // choice is a control for what is no number.
  choice(p, usual, text, put) {
    const values = p.type === "bool" ? ["true", "false"] : p.choices;
    const control = values ? make("select", {}, make("option", { value: "" }, usual), ...values.filter((v) => v !== usual).map((v) => make("option", { value: v }, v))) : make("input", { type: "text", placeholder: usual, title: p.range });
    control.value = text;
    control.dataset.param = p.name;
    control.setAttribute("aria-label", p.name);
    control.onchange = () => put(control.value);
    return control;
  },

  // code is where a script is written. It is sent as it stands.
  code(p, plan) {
    plan.params = plan.params || {};
    plan.params.code ??= p.default;
    plan.name = plan.name || "mine";
    const text = make("textarea", { rows: 12, spellcheck: "false", "data-param": p.name, "aria-label": "the script" });
    text.value = plan.params.code;
    text.oninput = () => { plan.params.code = text.value; };
    text.onkeydown = (e) => { if (e.key === "Tab" && !e.shiftKey) { e.preventDefault(); text.setRangeText("    ", text.selectionStart, text.selectionEnd, "end"); text.oninput(); } };
    return make("div", {}, make("p", { class: "faint" }, p.doc), text);
  },

  // drawJobs lets jobs be drawn with the mouse: one minute and forty maps fill the box.
  drawJobs() {
    const canvas = $("#draw"), s = this.scenario, span = 60, tall = 40;
    const redraw = (extra) => {
      const scale = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
      canvas.width = w * scale; canvas.height = h * scale;
      const pen = canvas.getContext("2d");
      pen.scale(scale, scale);
      [...s.jobs, ...(extra ? [extra] : [])].forEach((j, i) => { pen.fillStyle = colour(i); pen.globalAlpha = 0.7; const high = j.maps / tall * h; pen.fillRect(j.at / span * w, h - high, Math.max(2, j.map_time / span * w), high); });
    };
    const at = (e) => { const r = canvas.getBoundingClientRect(); return [Math.max(0, (e.clientX - r.left) / r.width * span), Math.max(1, Math.round((1 - (e.clientY - r.top) / r.height) * tall))]; };
    let from = null;
    const job = (e) => { const [x, y] = at(e); return { name: "job " + (s.jobs.length + 1), at: Math.round(Math.min(from, x) * 10) / 10, maps: Math.min(y, tall), map_time: Math.max(0.5, Math.round(Math.abs(x - from) * 10) / 10) }; };
    canvas.onpointerdown = (e) => { from = at(e)[0]; canvas.setPointerCapture(e.pointerId); };
    canvas.onpointermove = (e) => { if (from !== null) redraw(job(e)); };
    canvas.onpointerup = (e) => { if (from === null) return; s.jobs.push(job(e)); from = null; redraw(); };
    redraw();
  },

  // begin shows that something runs, and ends what ran before; it returns what ends it.
  begin(what) {
    if (this.under) this.under.abort();
    this.under = new AbortController();
    $("#problem").textContent = "";
    $("#status").textContent = what;
    $("#cancel").hidden = $("#progress").hidden = false;
    $("#progress").removeAttribute("value");
    return this.under;
  },

  end(mine) {
    if (this.under !== mine) return;
    this.under = null;
    $("#cancel").hidden = $("#progress").hidden = true;
  },

  cancel() { if (this.under) this.under.abort(); },

  // tell shows how far a run is.
  tell(mine, line) {
    if (this.under !== mine) return;
    if (line.waits) $("#status").textContent = "waits for another run …";
    if (line.all) { $("#progress").max = line.all; $("#progress").value = line.done; $("#status").textContent = `${line.done} of ${line.all} jobs are simulated`; }
  },

  // fails shows what was wrong, unless another run has taken its place. What a run that failed leaves on the page is grey: it is of another set-up.
  fails(mine, err, stale = false) {
    if (this.under !== mine && this.under) return;
    if (stale) document.body.classList.add("stale");
    $("#status").textContent = mine.signal.aborted ? "cancelled" : stale && player.sides.length ? "what stands below in grey is of the run before" : "";
    $("#problem").textContent = mine.signal.aborted ? "" : err.message;
    document.body.dataset.ready = mine.signal.aborted ? "cancelled" : "failed";
  },

  // apart gives the second policy a name where it is called as the first: the same with other parameters, or another script.
  apart() {
    const [a, b] = this.scenario.policies;
    if (b && (a.name || a.policy) === (b.name || b.policy)) b.name = `${b.name || b.policy} (2)`;
  },

  // run runs the scenario and plays it; it says whether that went well.
  async run() {
    this.apart();
    if (this.scenario.jobs && !this.scenario.jobs.length) { $("#problem").textContent = "Draw a job first."; return false; }
    const mine = this.begin("runs …"), began = performance.now();
    document.body.dataset.ready = "no";
    try {
      const got = unpackRecordings(await stream("run", this.scenario, mine.signal, (line) => this.tell(mine, line)));
      history.replaceState(null, "", "#" + encodeURIComponent(JSON.stringify(this.scenario)));
      const attempts = got.reduce((n, r) => n + r.attempts.job.length, 0);
      player.show(got);
      document.body.classList.remove("stale");
      fillLecture(player.sides.map((s) => s.run));
      $("#status").textContent = `${attempts} attempts simulated and shown in ${Math.round(performance.now() - began)} ms`;
      return true;
    } catch (err) { this.fails(mine, err, true); return false; } finally { this.end(mine); }
  },

  // sweep runs a policy with each of many values of a parameter, and draws what each gives.
  async sweep({ plan, admission, param, values, shows = "makespan" }) {
    const s = structuredClone(this.scenario), own = s.policies[plan], mine = this.begin(`tries ${values.length} values of ${param} …`);
    s.policies = values.map((v) => {
      const one = structuredClone(own), at = admission ? one.admission : one;
      at.params = { ...at.params, [param]: String(v) };
      return { ...one, name: `${param} ${v}` };
    });
    try {
      const runs = JSON.parse(new TextDecoder().decode(await stream("sweep", s, mine.signal, (line) => this.tell(mine, line))));
      this.showSweep({ plan, admission, param, shows, points: runs.map((r, i) => ({ value: values[i], report: r.report })) });
      $("#status").textContent = `${runs.length} runs of the sweep are done`;
    } catch (err) { this.fails(mine, err); } finally { this.end(mine); }
  },

  showSweep(sweep) {
    const { plan, admission, param, points } = sweep, at = () => { const own = this.scenario.policies[plan]; return admission ? own.admission : own; };
    const choose = (value) => { const to = at(); to.params = { ...to.params, [param]: String(value) }; const text = [...$("#lecture").childNodes]; this.show(); $("#lecture").replaceChildren(...text); $("#lecture").hidden = !text.length; this.showSweep(sweep); this.run(); };
    const which = make("select", { "aria-label": "what the chart shows", onchange: (e) => { sweep.shows = e.target.value; this.showSweep(sweep); } }, ...Object.entries(metrics).map(([key, [name]]) => make("option", { value: key, selected: key === sweep.shows ? "" : false }, name)));
    $("#sweep").hidden = false;
    $("#sweep").replaceChildren(sweepChart({ title: param, points, shows: sweep.shows, now: (at().params || {})[param], choose }), which);
  },

  async copyLink() {
    history.replaceState(null, "", "#" + encodeURIComponent(JSON.stringify(this.scenario)));
    try { await navigator.clipboard.writeText(location.href); $("#status").textContent = "the link is in the clipboard"; } catch { $("#status").textContent = "the link stands in the address bar"; }
  },

  download() {
    const a = make("a", { href: URL.createObjectURL(new Blob([JSON.stringify(this.scenario, null, 2) + "\n"], { type: "application/json" })), download: "scenario.yaml" });
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  },
};
playground.start().catch((err) => { document.body.append(make("p", { role: "alert" }, "The playground does not start: " + err.message)); });
