"use strict";
// Reads recordings as play/pack.go writes them: a head of JSON, then columns of numbers, of which most are differences from what is expected.

class Reader {
  constructor(bytes) { this.bytes = bytes; this.at = 0; }

  // unsigned reads a varint. Numbers stay below 2^53.
  unsigned() {
    let value = 0, scale = 1;
    for (;;) {
      const b = this.bytes[this.at++];
      if (b < 128) return value + b * scale;
      value += (b - 128) * scale;
      scale *= 128;
    }
  }

  signed() { const u = this.unsigned(); return u % 2 ? -(u + 1) / 2 : u / 2; }

  plain(n) { const part = this.bytes.slice(this.at, this.at + n); this.at += n; return part; }

  // column reads n numbers; make turns a number, of which one knows the place, into what it stands for.
  column(n, make = (d) => d, list = new Float64Array(n)) {
    for (let i = 0; i < n; i++) list[i] = make(this.signed(), i);
    return list;
  }

  // after reads differences from the number before.
  after(n) { let last = 0; return this.column(n, (d) => (last += d), new Int32Array(n)); }

  // places reads places in a list that was filled in their order.
  places(n) { let next = 0; return this.column(n, (d) => { const x = next + d; next = Math.max(next, x + 1); return x; }, new Int32Array(n)); }
}

// readRecent reads which job was served, by how many others were since the last time.
function readRecent(r, n) {
  const list = new Int32Array(n), last = [];
  for (let i = 0; i < n; i++) {
    const at = r.unsigned();
    if (at === last.length) last.push(r.unsigned());
    const job = last[at];
    for (let k = at; k > 0; k--) last[k] = last[k - 1];
    list[i] = last[0] = job;
  }
  return list;
}

// readStarts reads when and on which machine attempts start: by how many of the times at which machines report one is later than the one before.
function readStarts(r, n) {
  const period = r.unsigned(), phases = Array.from({ length: r.unsigned() }, () => r.unsigned()), at = new Float64Array(n), last = new Int32Array(phases.length), which = new Int32Array(n);
  for (let i = 0, step = 0; i < n; i++) {
    step += r.unsigned();
    which[i] = step % phases.length;
    at[i] = Math.floor(step / phases.length) * period + phases[which[i]];
  }
  return { at, node: r.column(n, (d, i) => (last[which[i]] += d), new Int32Array(n)) };
}

// readPlaces reads the places of machines: a number is counted from the first that is free.
function readPlaces(r, a) {
  const until = [];
  return r.column(a.job.length, (d, i) => {
    const ends = (until[a.node[i]] ??= []);
    let first = 0;
    while (first < ends.length && ends[first] > a.at[i]) first++;
    const place = first + d;
    while (ends.length <= place) ends.push(0);
    ends[place] = a.at[i] + a.took[i];
    return place;
  }, new Int32Array(a.job.length));
}

function readAttempts(r, n, grain, about, before) {
  const a = { job: readRecent(r, n), kind: r.plain(n), near: r.plain(n), how: r.plain(n), task: new Int32Array(n).fill(-1) }, of = (i) => 4 * a.job[i] + a.kind[i];
  const next = [], from = [], named = new Uint8Array(n);
  for (const i of about) if (i >= 0) named[i] = 1;
  for (let i = 0; i < n; i++) if (grain === 1 || named[i]) next[of(i)] = (a.task[i] = (next[of(i)] || 0) + r.signed()) + 1;
  Object.assign(a, readStarts(r, n));
  a.took = r.column(n, (d, i) => {
    if (grain > 1) return d * grain;
    const tasks = (before[of(i)] ??= []);
    return (tasks[a.task[i]] = (tasks[a.task[i]] || 0) + d);
  });
  a.place = readPlaces(r, a);
  a.away = r.column(n, (d, i) => (from[of(i)] = (from[of(i)] || 0) + d));
  return a;
}

// readAbout reads the attempts that decisions are about.
function readAbout(r, n) {
  const list = new Int32Array(n);
  for (let i = 0, next = 0; i < n; i++) {
    const u = r.unsigned() - 1;
    list[i] = u < 0 ? -1 : next + (u % 2 ? -(u + 1) / 2 : u / 2);
    if (u >= 0) next = list[i] + 1;
  }
  return list;
}

function readDecisions(r, n, about, attempts) {
  const d = { do: r.plain(n), attempt: about, job: new Int32Array(n), at: new Float64Array(n) };
  for (let i = 0, last = 0; i < n; i++) {
    const x = d.attempt[i];
    d.job[i] = x < 0 ? r.signed() : attempts.job[x];
    last = d.at[i] = x < 0 || d.do[i] !== 0 ? last + r.signed() : attempts.at[x];
  }
  d.text = r.places(n);
  d.others = r.places(n);
  return d;
}

function readLists(r, n) {
  const long = r.column(n), lists = [];
  for (let i = 0, last = []; i < n; i++) lists.push(last = Array.from({ length: long[i] }, (_, k) => r.signed() + (last[k] ?? 0)));
  return lists;
}

function readNet(r, n) {
  let at = 0;
  const net = { at: r.column(n, (d) => (at += d)), rack: r.after(n), congested: r.plain(n) };
  for (const way of ["up", "down"]) {
    const last = [];
    net[way] = r.column(n, (d, i) => (last[net.rack[i]] = (last[net.rack[i]] || 0) + d), new Int32Array(n));
  }
  return net;
}

// unpackRecordings returns the recordings in bytes, with columns that are typed arrays.
function unpackRecordings(bytes) {
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true), r = new Reader(bytes), before = [];
  const heads = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  r.at = 4 + size;
  for (const h of heads) {
    const about = readAbout(r, h.decisions);
    h.attempts = readAttempts(r, h.attempts, h.grain, about, before);
    h.decisions = readDecisions(r, h.decisions, about, h.attempts);
    h.others = readLists(r, h.others);
    h.net = readNet(r, h.net);
  }
  return heads;
}

// unzip undoes gzip.
async function unzip(bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}
