"use strict";
// The playground: a scenario, in the form of the files of sim run, is chosen, sent to the server, and played. The scenario is kept
// in the address of the page, so that a link holds all of it.

const playground = {
  scenario: {}, choices: null,

  async start() {
    this.choices = await (await fetch("choices")).json();
    this.scenario = this.fromLink() || structuredClone(this.choices.lectures[0].scenario);
    this.show();
    await this.run();
  },

  fromLink() {
    try { return location.hash.length > 1 ? JSON.parse(decodeURIComponent(location.hash.slice(1))) : null; } catch { return null; }
  },

  // show builds the form from the scenario. Each control writes into the scenario.
  show() {
    const s = this.scenario, c = this.choices;
    const lecture = make("select", { id: "lectures", onchange: (e) => this.lecture(e.target.value) }, make("option", { value: "" }, "choose a lecture …"), ...c.lectures.map((l) => make("option", { value: l.name }, l.title)));
    $("#setup").replaceChildren(
      make("div", { class: "row" }, make("label", {}, "lecture", lecture), make("button", { type: "submit", id: "run" }, "run"), make("button", { type: "button", id: "link", onclick: () => this.copyLink() }, "copy link"), make("button", { type: "button", onclick: () => this.download() }, "save as scenario file"), make("span", { id: "status", role: "status", class: "faint" })),
      make("p", { id: "lecture", hidden: true }), make("p", { id: "problem", role: "alert" }),
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
    $("#lecture").replaceChildren(...l.text.split("`").map((part, i) => i % 2 ? make("code", {}, part) : part));
    this.run();
  },

  // field is a control for a value of the scenario; an empty one leaves it out.
  field(label, key, kind, otherwise, help = "") {
    const s = this.scenario, input = make("input", { type: kind, value: s[key] ?? "", placeholder: otherwise, step: "any", min: kind === "number" ? 0 : false, "data-key": key, title: help });
    input.onchange = () => { if (input.value === "") delete s[key]; else s[key] = kind === "number" ? Number(input.value) : input.value; };
    return make("label", { title: help }, label, input);
  },

  workload() {
    const s = this.scenario, [, model = "fb-2010", count = "100"] = (s.trace || "gen:fb-2010:100").split(":");
    const models = make("select", { id: "model" }, ...this.choices.models.map((m) => make("option", { value: m, selected: m === model ? "" : false }, m)), make("option", { value: "drawn", selected: s.jobs ? "" : false }, "draw jobs"));
    const jobs = make("input", { type: "number", min: 1, max: 5000, value: count, id: "jobs" });
    const take = () => {
      if (models.value === "drawn") { for (const key of ["trace", "load", "scale"]) delete s[key]; s.jobs = s.jobs || []; } else { delete s.jobs; s.trace = `gen:${models.value}:${jobs.value}`; }
    };
    models.onchange = () => { take(); this.show(); };
    jobs.onchange = take;
    return make("fieldset", {}, make("legend", {}, "workload"), make("div", { class: "row" }, make("label", {}, "jobs from", models), s.jobs ? make("button", { type: "button", onclick: () => { s.jobs = []; this.show(); } }, "clear") : make("label", {}, "how many", jobs), this.field("load", "load", "number", "as is", "times of arrival are stretched so that the cluster is this busy, such as 0.7"), this.field("scale", "scale", "number", "1", "factor on all sizes"), this.field("seed", "seed", "number", "1")),
      s.jobs ? make("canvas", { id: "draw", "aria-label": "drag to draw a job: from left to right the time of a map, from bottom to top how many maps" }) : "", s.jobs ? make("p", { class: "faint" }, "Drag in the box: where it begins is when the job comes, its width how long a map takes, its height how many maps there are.") : "");
  },

  cluster() {
    return make("fieldset", {}, make("legend", {}, "cluster"), make("div", { class: "row" }, this.field("nodes", "nodes", "number", "40"), this.field("racks", "racks", "number", "8"), this.field("containers of a node", "containers", "number", "6"),
      this.field("Gb/s of a rack's link", "uplink", "number", "no network"), this.field("Gb/s of a node's card", "nic", "number", "no limit"), this.field("heartbeat", "heartbeat", "text", "1s")));
  },

  // side is a policy with all its parameters, and the admission beside it.
  side(plan, i) {
    const box = make("fieldset", { "data-plan": i }, make("legend", {}, i ? "against" : "policy"));
    const choose = (list, value, none, put) => make("select", { onchange: (e) => { put(e.target.value); this.show(); } }, none ? make("option", { value: "" }, none) : "", ...list.map((p) => make("option", { value: p.name, selected: p.name === value ? "" : false }, p.name)));
    const policy = this.choices.policies.find((p) => p.name === plan.policy), admit = plan.admission && this.choices.admissions.find((p) => p.name === plan.admission.policy);
    box.append(make("div", { class: "row" }, choose(this.choices.policies, plan.policy, "", (v) => { plan.policy = v; delete plan.params; delete plan.name; }),
      make("label", {}, "admission", choose(this.choices.admissions, admit && admit.name, "all at once", (v) => { if (v) plan.admission = { policy: v }; else delete plan.admission; }))));
    if (policy) box.append(make("p", { class: "faint" }, policy.summary + " (" + policy.source + ")"), this.params(policy, plan));
    if (admit) box.append(make("p", { class: "faint" }, admit.summary + " (" + admit.source + ")"), this.params(admit, plan.admission));
    return box;
  },

  params(policy, plan) {
    const given = plan.params || {}, box = make("details", { open: Object.keys(given).length ? "" : false }, make("summary", {}, `parameters of ${policy.name} (${policy.params.length})`));
    for (const p of policy.params) {
      if (p.type === "code") { box.open = true; box.append(this.code(p, plan)); continue; }
      const usual = (policy.usual || {})[p.name] ?? p.default, values = p.type === "bool" ? ["true", "false"] : p.choices;
      const control = values
        ? make("select", {}, make("option", { value: "" }, usual), ...values.filter((v) => v !== usual).map((v) => make("option", { value: v }, v)))
        : make("input", { type: "text", placeholder: usual, title: p.range });
      control.value = given[p.name] ?? "";
      control.dataset.param = p.name;
      control.onchange = () => {
        plan.params = plan.params || {};
        if (control.value === "") delete plan.params[p.name]; else plan.params[p.name] = control.value;
      };
      box.append(make("label", { class: "param" }, p.name, control, make("span", { class: "faint" }, p.doc)));
    }
    return box;
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

  async run() {
    const status = $("#status"), problem = $("#problem");
    if (this.scenario.jobs && !this.scenario.jobs.length) { problem.textContent = "Draw a job first."; return; }
    problem.textContent = "";
    status.textContent = "runs …";
    document.body.dataset.ready = "no";
    const began = performance.now();
    try {
      const answer = await fetch("run", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(this.scenario) }), got = await answer.json();
      if (!answer.ok) throw new Error(got.error);
      history.replaceState(null, "", "#" + encodeURIComponent(JSON.stringify(this.scenario)));
      player.show(got);
      status.textContent = `${got.reduce((n, r) => n + r.attempts.job.length, 0)} attempts simulated and shown in ${Math.round(performance.now() - began)} ms`;
    } catch (err) { problem.textContent = err.message; status.textContent = ""; document.body.dataset.ready = "failed"; }
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
