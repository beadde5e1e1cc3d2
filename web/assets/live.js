// Keeps a page up to date: it is asked for again every two seconds while somebody looks, and the parts that differ are replaced.
// What the reader has opened stays open, and a part in which something is selected waits.

const every = 2000;
const main = document.querySelector("main");
const sign = document.querySelector("#live");
let tag = null;
let missed = 0;

const parts = (root) => [...root.querySelectorAll("section[id]")];
const served = new Map(parts(main).map((p) => [p.id, p.innerHTML]));

function busy(part) {
  const s = window.getSelection();
  return s && !s.isCollapsed && s.anchorNode && part.contains(s.anchorNode);
}

function replace(fresh) {
  const now = parts(fresh);
  const same = now.length === parts(main).length && now.every((p) => main.querySelector("#" + CSS.escape(p.id)));
  if (!same) {
    main.replaceChildren(...fresh.childNodes);
    served.clear();
    parts(main).forEach((p) => served.set(p.id, p.innerHTML));
    return;
  }
  for (const p of now) {
    const old = main.querySelector("#" + CSS.escape(p.id));
    if (served.get(p.id) === p.innerHTML || busy(old)) continue;
    const open = [...old.querySelectorAll("details")].map((d) => d.open);
    served.set(p.id, p.innerHTML);
    old.innerHTML = p.innerHTML;
    old.querySelectorAll("details").forEach((d, i) => { if (i < open.length) d.open = open[i]; });
  }
}

async function look() {
  if (document.hidden) return;
  try {
    const r = await fetch(location.href, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
    if (r.ok) {
      tag = r.headers.get("ETag");
      replace(new DOMParser().parseFromString(await r.text(), "text/html").querySelector("main"));
    } else if (r.status === 404) {
      sign.textContent = "this is no longer there: what you see is old";
      sign.className = "old";
      return;
    } else if (r.status !== 304) {
      throw new Error("HTTP " + r.status);
    }
    missed = 0;
    sign.textContent = "live";
    sign.className = "live";
  } catch (e) {
    missed++;
    sign.textContent = "no answer from the master, " + missed + (missed === 1 ? " try" : " tries") + ": what you see is old";
    sign.className = "old";
  }
}

if (main.dataset.live !== undefined) {
  sign.textContent = "live";
  sign.className = "live";
  setInterval(look, every);
  document.addEventListener("visibilitychange", look);
}
