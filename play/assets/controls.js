// The controls of the playground: numbers with a slider beside the box that holds the exact value.

// Units turn what stands in a box into a number and back.
const plainNumbers = { read: (text) => (text.trim() === "" ? NaN : Number(text)), write: (n) => String(n) };
const timeUnits = { ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };
const times = {
  read(text) {
    let sum = 0, rest = text.trim();
    if (rest === "0") return 0;
    if (rest === "") return NaN;
    while (rest) {
      const part = /^(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/.exec(rest);
      if (!part) return NaN;
      sum += Number(part[1]) * timeUnits[part[2]];
      rest = rest.slice(part[0].length);
    }
    return sum;
  },
  write: (n) => (n === 0 ? "0s" : n < 1 ? Math.round(n * 1000) + "ms" : n + "s"),
};
const byteUnits = { "": 1, B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KIB: 1024, MIB: 1024 ** 2, GIB: 1024 ** 3, TIB: 1024 ** 4 };
const sizes = {
  read(text) { const part = /^([\d.]+)\s*([KMGT]?I?B)?$/i.exec(text.trim()); return part ? Number(part[1]) * byteUnits[(part[2] || "").toUpperCase()] : NaN; },
  write: (n) => (n >= 2 ** 20 ? Math.round(n / 2 ** 20) + "MiB" : String(Math.round(n))),
};
const unitsOf = { int: plainNumbers, float: plainNumbers, duration: times, bytes: sizes };

// neat rounds to three digits, as a hand on a slider can mean them.
function neat(n, whole) { return whole ? Math.round(n) : Number(n.toPrecision(3)); }

// A span is what a slider covers. Its ends may be far apart: then the hand moves by factors.
class Span {
  constructor(least, most, whole, step) {
    this.least = least; this.most = most; this.whole = whole; this.step = step;
    this.byFactor = least > 0 && most / least >= 50;
    this.bend = least === 0 && most >= 20 && !step ? 2 : 1;
  }

  value(hand) {
    const share = hand / 1000, n = this.byFactor ? this.least * (this.most / this.least) ** share : this.least + (this.most - this.least) * share ** this.bend;
    return this.step ? Math.max(this.step, Math.round(n / this.step) * this.step) : neat(n, this.whole);
  }

  hand(value) {
    const share = this.byFactor ? Math.log(value / this.least) / Math.log(this.most / this.least) : ((value - this.least) / (this.most - this.least)) ** (1 / this.bend);
    return Math.round(1000 * Math.max(0, Math.min(1, share || 0)));
  }

  // values are so many of it, evenly for the hand.
  values(n) { return [...new Set(Array.from({ length: n }, (_, i) => this.value(1000 * i / (n - 1))))]; }
}

// spanOf finds what a parameter's slider covers, null if it is no number: its bounds, where they are near enough to its usual value.
function spanOf(p, usual) {
  const units = unitsOf[p.type];
  if (!units) return null;
  const u = units.read(usual), whole = p.type === "int" || p.type === "bytes";
  let least = p.least || 0, most = p.most || 0;
  if (!(most > least)) most = u > 0 ? 4 * u : 10;
  if (u > 0 && most > 100 * u) most = 10 * u;
  if (least === 0 && /^> 0/.test(p.range)) least = Math.min(most, u > 0 ? u / 20 : most / 100);
  return new Span(whole ? Math.ceil(least) : least, most, whole);
}

// numbered is a slider beside a box. An empty box means the usual value; put is given the text of the box.
function numbered(span, units, { text, usual, help = "", put, attributes = {} }) {
  const box = make("input", { type: "text", inputmode: "decimal", placeholder: usual, title: help, ...attributes });
  const slider = make("input", { type: "range", min: 0, max: 1000, title: help, tabindex: "0", "aria-label": "slider of " + (attributes["aria-label"] || attributes["data-param"] || attributes["data-key"] || "") });
  box.value = text;
  const follow = () => { const n = units.read(box.value === "" ? String(usual) : box.value); if (!isNaN(n)) slider.value = span.hand(n); };
  slider.oninput = () => { box.value = units.write(span.value(Number(slider.value))); put(box.value); };
  box.onchange = () => { follow(); put(box.value); };
  follow();
  return make("span", { class: "numbered" }, slider, box);
}
