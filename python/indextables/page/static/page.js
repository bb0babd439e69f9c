// What the page does without being loaded again: search while typing, brush, completion, keys.
// Every part of it is HTML made by the server; nothing here builds markup from data.
"use strict";
(() => {
  const find = (selector, inside = document) => inside.querySelector(selector);
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const box = find("#q");
  const PARTS = ["hits.json", "chart.json", "facets.json"];
  const TYPING_MS = 40;
  let asking = null;
  let timer = 0;

  // --- searching: the address is the state, and the parts of the page follow it

  async function ask(name, search, signal) {
    const reply = await fetch(name + search, { signal, headers: { Accept: "application/json" } });
    if (!reply.ok) throw new Error(String(reply.status));
    return reply.json();
  }

  function put(parts) {
    for (const [name, html] of Object.entries(parts)) {
      const place = document.getElementById(name);
      if (!place) continue;
      const opened = new Set(all("details[open][data-key]", place).map((d) => d.dataset.key));
      const before = place.childElementCount > 0;
      place.innerHTML = html;
      if (name === "facets" && before) {
        for (const d of all("details[data-key]", place)) d.open = opened.has(d.dataset.key);
      }
      prepare(place);
    }
    if ("problem" in parts) find("#hits").classList.toggle("stale", parts.problem !== "" && !("hits" in parts));
  }

  async function show(search) {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    document.body.dataset.busy = "1";
    const started = performance.now();
    const asked = PARTS.map((name) =>
      ask(name, search, signal).then((parts) => {
        if (signal.aborted) return;
        put(parts);
        if (name === PARTS[0]) document.body.dataset.took = String(performance.now() - started);
      }),
    );
    const done = await Promise.allSettled(asked);
    if (signal.aborted) return;
    asking = null;
    settle();
    if (done.some((each) => each.status === "rejected")) find("#hits").classList.add("stale");
  }

  // busy until the page shows what was typed, not only while it asks
  function settle() {
    if (!timer && !asking) delete document.body.dataset.busy;
  }

  function go(address, { replace = false } = {}) {
    const url = new URL(address, location.href);
    if (!find("[data-search]") || url.pathname !== location.pathname) {
      location.assign(url);
      return;
    }
    history[replace ? "replaceState" : "pushState"](null, "", url);
    if (box && document.activeElement !== box) box.value = url.searchParams.get("q") ?? "";
    follow(url);
    show(url.search);
  }

  // tabs and hidden fields keep what is on the screen
  function follow(url) {
    const form = find("[data-search]");
    all("input[type=hidden]", form).forEach((each) => each.remove());
    for (const [name, value] of url.searchParams) {
      if (name === "q" || name === "page") continue;
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name, value });
      form.append(field);
    }
  }

  function typed(delay) {
    clearTimeout(timer);
    document.body.dataset.busy = "1";
    timer = setTimeout(() => {
      timer = 0;
      const url = new URL(location.href);
      if (box.value.trim()) url.searchParams.set("q", box.value);
      else url.searchParams.delete("q");
      url.searchParams.delete("page");
      if (url.href !== location.href) go(url, { replace: true });
      else settle();
    }, delay);
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-nav]");
    if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const address = link.getAttribute("href");
    event.preventDefault();
    if (address) go(address);
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches?.("select[data-go]")) go(event.target.value);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-search], [data-form]")) return;
    event.preventDefault();
    closeList();
    clearTimeout(timer);
    timer = 0;
    const pairs = [...new FormData(form)].filter(([name, value]) => value !== "" || name.startsWith("f."));
    go("search?" + new URLSearchParams(pairs));
  });
  addEventListener("popstate", () => {
    if (!box) return;
    box.value = new URLSearchParams(location.search).get("q") ?? "";
    show(location.search);
  });

  // --- parts that are loaded when they are seen or opened

  async function load(place) {
    if (place.dataset.loaded) return;
    place.dataset.loaded = "1";
    const url = new URL(place.dataset.load, location.href);
    if (place.dataset.column) url.searchParams.set("column", place.dataset.column);
    try {
      const parts = await ask(url.href, "", undefined);
      place.innerHTML = parts.body ?? parts.problem;
      prepare(place);
    } catch {
      place.textContent = "This could not be loaded.";
      delete place.dataset.loaded;
    }
  }

  function prepare(inside) {
    for (const place of all("[data-load]", inside)) {
      const drawer = place.closest("details");
      if (!drawer || drawer.open) load(place);
      else drawer.addEventListener("toggle", () => drawer.open && load(place));
    }
    for (const chart of all("[data-brush]", inside)) brush(chart);
  }

  // --- the brush: drag over the histogram to narrow the time

  const pad = (number, width = 2) => String(number).padStart(width, "0");
  function timestamp(micros, isDate) {
    const at = new Date(Number(micros / 1000n));
    const day = `${pad(at.getUTCFullYear(), 4)}-${pad(at.getUTCMonth() + 1)}-${pad(at.getUTCDate())}`;
    if (isDate) return day;
    const rest = micros % 1000000n;
    const clock = `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}:${pad(at.getUTCSeconds())}`;
    return `${day} ${clock}` + (rest ? "." + pad(rest, 6) : "");
  }

  function brush(chart) {
    const { low, high, step } = chart.dataset;
    const shade = find(".brush", chart);
    const buckets = Number((BigInt(high) - BigInt(low)) / BigInt(step));
    let from = null;
    let moved = false;
    const at = (event) => {
      const area = chart.getBoundingClientRect();
      return Math.min(Math.max((event.clientX - area.left) / area.width, 0), 1);
    };
    const range = (one, other) => [
      Math.floor(Math.min(one, other) * buckets),
      Math.min(Math.ceil(Math.max(one, other) * buckets), buckets),
    ];
    chart.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      from = at(event);
      moved = false;
    });
    chart.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const to = at(event);
      if (!moved && Math.abs(to - from) * chart.clientWidth < 5) return;
      if (!moved) chart.setPointerCapture(event.pointerId);
      moved = true;
      const [first, last] = range(from, to);
      shade.hidden = false;
      shade.style.left = `${(first / buckets) * 100}%`;
      shade.style.width = `${((last - first) / buckets) * 100}%`;
    });
    const end = (event) => {
      if (from === null) return;
      const [first, last] = range(from, at(event));
      from = null;
      if (!moved || last <= first) return;
      const url = new URL(location.href);
      const isDate = Boolean(chart.dataset.date);
      url.searchParams.set("time", chart.dataset.brush);
      url.searchParams.set("from", timestamp(BigInt(low) + BigInt(first) * BigInt(step), isDate));
      url.searchParams.set("to", timestamp(BigInt(low) + BigInt(last) * BigInt(step), isDate));
      url.searchParams.delete("page");
      go(url);
    };
    chart.addEventListener("pointerup", end);
    chart.addEventListener("pointercancel", () => { from = null; shade.hidden = true; });
    // a drag that ends on a bar is not a click on it
    chart.addEventListener("click", (event) => {
      if (moved) { event.preventDefault(); event.stopPropagation(); }
    }, true);
    chart.addEventListener("dragstart", (event) => event.preventDefault());
  }

  // --- completion: fields, operators and words of the index at the caret

  const list = find("#suggestions");
  const fields = box ? JSON.parse(box.dataset.fields) : [];
  const OPERATORS = [["AND", "both"], ["OR", "either"], ["NOT", "without"]];
  let chosen = -1;
  let completing = null;

  function word() {
    const end = box.selectionStart;
    const start = box.value.slice(0, end).search(/[^\s():"]*$/);
    return { start, end, text: box.value.slice(start, end) };
  }

  // fields and operators at once, words of the index when they arrive
  function suggest() {
    const { start, text } = word();
    const before = box.value.slice(0, start);
    const inQuotes = (before.match(/"/g) ?? []).length % 2 === 1;
    const column = before.match(/([\w.@-]+):$/)?.[1] ?? "";
    if (!text || (before.endsWith(":") && !column)) return closeList();
    const wanted = text.toLowerCase();
    const names = inQuotes || column ? [] : fields
      .filter(([name]) => name.toLowerCase().startsWith(wanted) && /^[\w.@-]+$/.test(name))
      .map(([name, role]) => [name + ":", role]);
    const words = before.trim() && !inQuotes && !column
      ? OPERATORS.filter(([name]) => name.toLowerCase().startsWith(wanted) && name !== text) : [];
    list.replaceChildren(...[...names, ...words].slice(0, 8).map(([name, note]) => {
      const line = document.createElement("li");
      const said = document.createElement("small");
      said.textContent = note;
      line.append(name, said);
      line.setAttribute("role", "option");
      line.dataset.text = name;
      return line;
    }));
    chosen = -1;
    openList();
    completeWord(text, column);
  }

  async function completeWord(text, column) {
    completing?.abort();
    completing = new AbortController();
    const { signal } = completing;
    const version = new URL(location.href).searchParams.get("version");
    const given = new URLSearchParams({ text, column, ...(version ? { version } : {}) });
    try {
      await new Promise((done) => { setTimeout(done, TYPING_MS); });
      if (signal.aborted) return;
      const { words } = await ask("words.json", `?${given}`, signal);
      if (signal.aborted || !words || word().text !== text || document.activeElement !== box) return;
      list.insertAdjacentHTML("beforeend", words);
      openList();
    } catch { /* without words the list is shorter */ }
  }

  function openList() {
    const lines = [...list.children];
    const { text } = word();
    // what is typed already needs no completion
    lines.filter((line) => line.dataset.text === text).forEach((line) => line.remove());
    if (!list.children.length) return closeList();
    [...list.children].forEach((line, at) => { line.id = `suggestion-${at}`; });
    list.hidden = false;
    box.setAttribute("aria-expanded", "true");
    choose(chosen);
  }

  list?.addEventListener("pointerdown", (event) => {
    const line = event.target.closest("li");
    event.preventDefault();
    if (line) accept(line);
  });

  function choose(at) {
    const lines = [...list.children];
    chosen = lines.length ? (at + lines.length + 1) % (lines.length + 1) : -1;
    if (chosen === lines.length) chosen = -1;
    lines.forEach((line, each) => line.setAttribute("aria-selected", String(each === chosen)));
    if (chosen >= 0) box.setAttribute("aria-activedescendant", lines[chosen].id);
    else box.removeAttribute("aria-activedescendant");
  }

  function accept(line) {
    const { start, end } = word();
    const text = line.dataset.text.endsWith(":") ? line.dataset.text : line.dataset.text + " ";
    box.setRangeText(text, start, end, "end");
    closeList();
    typed(0);
  }

  function closeList() {
    if (!list) return;
    completing?.abort();
    list.hidden = true;
    chosen = -1;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  }

  // --- keys

  const rows = () => all("#hits summary");

  box?.addEventListener("input", () => { suggest(); typed(TYPING_MS); });
  box?.addEventListener("blur", closeList);
  box?.addEventListener("scroll", align);
  box?.addEventListener("keydown", (event) => {
    const open = !list.hidden;
    if (event.key === "ArrowDown" && open) { event.preventDefault(); choose(chosen + 1); }
    else if (event.key === "ArrowUp" && open) { event.preventDefault(); choose(chosen - 1); }
    else if (event.key === "ArrowDown") { event.preventDefault(); rows()[0]?.focus(); }
    else if ((event.key === "Enter" || event.key === "Tab") && open && chosen >= 0) { event.preventDefault(); accept(list.children[chosen]); }
    else if (event.key === "Escape" && open) { event.preventDefault(); event.stopPropagation(); closeList(); }
  });

  document.addEventListener("keydown", (event) => {
    const target = event.target;
    const writes = target.matches?.("input, textarea, select");
    if (event.key === "/" && !writes && !event.ctrlKey && !event.metaKey && box) {
      event.preventDefault();
      box.focus();
      box.select();
    } else if (target.matches?.("#hits summary")) {
      const lines = rows();
      const at = lines.indexOf(target);
      if (event.key === "ArrowDown") { event.preventDefault(); lines[at + 1]?.focus(); }
      else if (event.key === "ArrowUp") { event.preventDefault(); (lines[at - 1] ?? box).focus(); }
      else if (event.key === "Escape") box.focus();
    }
  });

  // the sign of an error stays below its character, however far the box is scrolled
  function align() {
    const sign = find("#problem .caret");
    if (sign) sign.scrollLeft = box.scrollLeft;
  }

  // --- copying, the theme

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    const text = find("code", button.parentElement).textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(find("code", button.parentElement));
      button.textContent = "Press Ctrl-C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  find("[data-theme]")?.addEventListener("click", () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    try { localStorage.setItem("indextables-theme", root.dataset.theme); } catch { /* only this page */ }
  });

  // narrow screens begin with the rows, not with the filters
  if (matchMedia("(max-width: 760px)").matches) find(".drawer")?.removeAttribute("open");
  prepare(document);
  if (box && document.activeElement === document.body) box.focus();
  box?.setSelectionRange(box.value.length, box.value.length);
  document.body.dataset.ready = "1";
})();
