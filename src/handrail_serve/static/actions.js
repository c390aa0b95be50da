// Buttons and forms. Everything that changes something is an operation, and what is gated is shown first.

import { make } from "{{html.js}}";

export function listen({ call, go, ask: leave, reload, say, dialog }) {
  const read = (form) => {
    const input = JSON.parse(form.dataset.input || "{}");
    const waiting = [];
    for (const field of form.elements) {
      if (!field.name || field.disabled) continue;
      const put = (value) => place(input, field.name, value);
      if (field.type === "checkbox") field.checked && put(true);
      else if (field.type === "radio") field.checked && put(field.value);
      else if (field.type === "file") {
        const [file] = field.files;
        const most = Number(field.dataset.most) || Infinity;
        if (file?.size > most) waiting.push(Promise.reject(new Error(`The file has ${Math.ceil(file.size / 2 ** 20)} MiB; at most ${most / 2 ** 20} MiB are taken.`)));
        else if (file) waiting.push(file.text().then((text) => put({ source: file.name, text })));
      } else if (field.value !== "" || field.dataset.type === "text") put(convert(field));
    }
    return Promise.all(waiting).then(() => input);
  };

  const perform = async (element, input) => {
    const { operation, then, answer, answerField, download } = element.dataset;
    const isGated = "gated" in element.dataset;
    const more = "dangerous" in element.dataset ? { dangerous: true } : {};
    let told = await call(operation, isGated ? { ...input, ...more, dryRun: true } : input);
    if (isGated) {
      if (!(await ask(element, told))) return;
      told = await call(operation, { ...input, ...more, confirm: told.confirm_token });
    }
    for (const more of JSON.parse(element.dataset.each || "[]")) await call(operation, { ...input, ...more });
    if (element.dataset.render === "text") return fill(element.form, told.text);
    const shown = answerField ? told[answerField] : told;
    if (download) save(download, shown, told.media_type);
    if (answer) {
      const text = typeof shown === "string" ? shown : JSON.stringify(shown, null, 2);
      document.querySelector(answer).replaceChildren(...(element.dataset.render === "simulation" ? describeWalks(told) : [text]));
      if (isGated && element.reset) element.reset(); // it was done: nothing typed is left to lose
      say("The answer is below.");
    } else if (then) {
      element.closest("form")?.reset(); // it was done: nothing typed is left to lose
      if (element.dataset.done) say(element.dataset.done);
      go(then.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(told[name])));
    } else if (!download) {
      say(element.dataset.done || "Done.");
      element.closest("form")?.reset();
      reload();
    }
  };

  const fill = (form, text) => {
    const field = form.querySelector("textarea[data-check]");
    say(field.value === text ? "There is no certain fix." : "The certain fixes are in the text.");
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };

  const ask = (element, told) => {
    const preview = told.preview || told;
    const changes = (preview.changes || []).map((one) => {
      const words = [one.action, one.resource, one.id].filter(Boolean).join(" ");
      return make("li", {}, words, ...describe(one));
    });
    const parts = [
      make("p", {}, preview.blast_radius || element.dataset.question || "This is what would change."),
      changes.length ? make("ul", { class: "facts dots" }, ...changes) : make("pre", { class: "tall", tabindex: "0" }, JSON.stringify(preview, null, 2)),
    ];
    return dialog(element.dataset.title || "Do this?", parts, element.dataset.word || "Yes, do it", "danger" in element.dataset || "dangerous" in element.dataset);
  };

  const guarded = async (element, work) => {
    if (element.getAttribute("aria-disabled") === "true") return;
    element.setAttribute("aria-disabled", "true");
    try {
      await work();
    } catch (trouble) {
      await dialog(element.dataset.refused || "That did not work", [make("p", {}, trouble.message), ...(trouble.fix ? [make("p", { class: "soft" }, trouble.fix)] : [])]);
    } finally {
      element.removeAttribute("aria-disabled");
    }
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-copy], button[data-operation], button[data-line]");
    if (!button || (button.type === "submit" && button.form)) return;
    event.preventDefault();
    if ("line" in button.dataset) return showLine(button.dataset);
    if ("copy" in button.dataset) copy(button.dataset.copy).then((ok) => say(ok ? "Copied." : "The browser does not allow copying."));
    else guarded(button, () => perform(button, JSON.parse(button.dataset.input || "{}")));
  });

  document.addEventListener("submit", (event) => {
    event.preventDefault();
    const form = event.target;
    if (form.dataset.view) {
      const given = [...new FormData(form)].filter(([, value]) => value);
      leave(given.length ? `${form.dataset.view}?${new URLSearchParams(given)}` : form.dataset.view);
    } else if (form.dataset.operation) {
      const by = event.submitter;
      const element = by?.dataset.operation ? by : form;
      guarded(form, async () => {
        const again = by?.dataset.again;
        if (again && !(await dialog("Are you sure?", [make("p", {}, again)], by.firstChild.textContent, true))) return;
        const input = await read(form);
        if (by?.name) place(input, by.name, by.value);
        await perform(element, { ...input, ...JSON.parse(by?.dataset.input || "{}") });
      });
    }
  });

  document.addEventListener("scroll", ({ target }) => target.dataset?.whole && openAnswers(target.parentElement), true);
  document.addEventListener("toggle", ({ target }) => openAnswers(target), true);
  watchFields(call);
  takeDrops();
}

// A long text is approved after it was scrolled to its end; the page may be fetched again meanwhile

const readToTheEnd = new Set();

export function openAnswers(root) {
  for (const text of root.querySelectorAll("[data-whole]")) {
    const isShown = text.clientHeight > 0;
    if (isShown && text.scrollTop + text.clientHeight >= text.scrollHeight - 2) readToTheEnd.add(text.dataset.whole);
    if (!readToTheEnd.has(text.dataset.whole)) continue;
    const form = text.closest("form");
    for (const button of form.querySelectorAll("[data-after-reading]")) button.disabled = false;
    for (const hint of form.querySelectorAll("[data-unread]")) hint.hidden = true;
  }
}

// What a preview holds: facts as names and values, texts as their lines that change

function describe({ before, after, diff }) {
  const hunks = diff?.hunks?.join("\n");
  if (hunks) {
    const looks = { "+": "add", "-": "del", "@": "at" };
    const lines = hunks.split("\n").map((line) => make("span", { class: looks[line[0]] || "" }, `${line}\n`));
    return [make("pre", { class: "diff tall", tabindex: "0" }, ...lines)];
  }
  if (!after || typeof after !== "object") return [];
  const word = (value) => {
    if (Array.isArray(value)) return value.map(word).join(value.some((one) => typeof one === "object") ? "; " : ", ") || "none";
    if (value && typeof value === "object") return Object.entries(value).map(([name, one]) => `${name.replaceAll("_", " ")} ${word(one)}`).join(", ");
    return value === null ? "none" : String(value);
  };
  const rows = Object.entries(after).flatMap(([name, value]) => {
    const old = before && before[name] !== undefined && before[name] !== value ? `${word(before[name])} → ` : "";
    return [make("dt", {}, name.replaceAll("_", " ")), make("dd", {}, old + word(value))];
  });
  return [make("dl", { class: "kv" }, ...rows)];
}

function describeWalks(told) {
  const { coverage, paths, completed, truncated, problems = [], dead_steps: dead = [], loops = [] } = told;
  const rows = [...problems.map((one) => `${one.step_id}, ${one.mode}: ${one.message}`), ...dead.map((one) => `${one.step_id} is never reached: ${one.reason}`), ...loops.map((one) => `The loop ${one.loop_id} ended after ${one.iterations.join(", ")} rounds.`)];
  const sum = `${paths} walks, ${completed} of them to the end; ${coverage.reached} of ${coverage.total} steps were reached.${truncated ? " There are more walks than were tried." : ""}`;
  return [make("p", {}, told.ok ? "It passes." : "It does not pass."), make("p", { class: "soft" }, sum), ...(rows.length ? [make("ul", { class: "facts dots" }, ...rows.map((row) => make("li", {}, row)))] : [])];
}

const SEVERITIES = { error: "bad", warning: "warn" };

function problemRow(one, lines) {
  const at = make("button", { type: "button", class: "button plain", "data-line": one.line, "data-column": one.column }, `line ${one.line}, column ${one.column}`);
  const text = (lines[one.line - 1] || "").trim().slice(0, 120);
  const under = [...(one.fix ? [make("span", { class: "under" }, one.fix)] : []), ...(text ? [make("code", { class: "line", dir: "auto" }, text)] : [])];
  const badge = make("span", { class: `badge ${SEVERITIES[one.severity] || ""}` }, one.severity);
  return make("li", {}, make("div", { class: "cluster" }, badge, make("span", { class: "aside" }, one.line ? at : one.pointer || "")), make("div", {}, one.message, ...under));
}

function showLine({ line, column, field = document.querySelector("textarea[data-check]") }) {
  if (!field) return;
  const start = field.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1) + Number(column) - 1;
  field.setSelectionRange(start, start + 1);
  field.scrollTop = field.scrollHeight * (start / field.value.length) - field.clientHeight / 2; // lines wrap
  field.blur(); // what gets the focus anew shows its selection
  field.focus();
}

// What the text means, as far as it can be compiled: an outline as text, a drawing as a picture

async function preview(call, field, isBroken) {
  const into = document.querySelector(field.dataset.previewInto);
  into.parentElement.classList.toggle("stale", isBroken);
  if (isBroken) return;
  const text = field.value;
  const input = previewed(field);
  const [outline, picture] = await Promise.all(["text", "svg"].map((as) => call(field.dataset.preview, { ...input, as })));
  if (field.value !== text) return;
  const image = make("img", { src: `data:image/svg+xml,${encodeURIComponent(picture.drawing)}`, alt: "The steps from top to bottom; below, as text." });
  const listed = make("details", {}, make("summary", { class: "small" }, "As text"), make("pre", { class: "code wide", tabindex: "0", "aria-label": "Steps" }, outline.drawing));
  listed.open = into.querySelector("details")?.open || false;
  into.replaceChildren(make("div", { class: "map", tabindex: "0", role: "region", "aria-label": "Drawing" }, image), listed);
  await showPrompts(call);
}

function previewed(field) {
  const input = JSON.parse(field.dataset.previewInput || "{}");
  place(input, field.dataset.previewField, field.value);
  return input;
}

// What an agent reads at each step, for who wants to see it

async function showPrompts(call, shown = document.querySelector("details[data-reads]")) {
  if (!shown?.open) return;
  const { workflow } = await call("workflow.inspect", { ...previewed(document.querySelector("textarea[data-preview]")), part: "compiled" });
  const row = (one) => make("li", {}, make("b", { dir: "auto" }, one.title || one.id), ...(one.prompt ? [make("pre", { class: "code", dir: "auto", tabindex: "0" }, one.prompt)] : []));
  const rows = (parts) => parts.flatMap((one) => [row(one), ...rows(one.body || [])]);
  shown.querySelector("ol").replaceChildren(...rows(workflow.compiled.steps));
}

function place(input, name, value) {
  const path = name.split(".");
  const last = path.pop();
  let held = input;
  for (const part of path) held = held[part] ??= {};
  held[last] = value;
}

function convert(field) {
  switch (field.dataset.type) {
    case "number":
      return Number(field.value);
    case "json":
      return JSON.parse(field.value);
    case "appended":
      return JSON.stringify([...JSON.parse(field.dataset.held), field.value.trim()]);
    case "lines":
      return field.value.split("\n").map((line) => line.trim()).filter(Boolean);
    default:
      return field.value;
  }
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function save(name, content, type = "application/json") {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const address = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// A text that is checked while it is written

function watchFields(call) {
  const timers = new WeakMap();
  document.addEventListener("toggle", (event) => "reads" in event.target.dataset && showPrompts(call, event.target).catch(() => {}), true);
  document.addEventListener("selectionchange", () => {
    const field = document.activeElement;
    const at = field?.dataset?.check && document.querySelector("#at-line");
    if (at) at.textContent = `line ${field.value.slice(0, field.selectionStart).split("\n").length}`;
  });
  document.addEventListener("input", (event) => {
    const field = event.target;
    if (!field.dataset?.check) return;
    clearTimeout(timers.get(field));
    const walked = document.querySelector("#simulated");
    if (walked?.firstChild) walked.replaceChildren(make("p", { class: "soft" }, "The text has changed since; simulate it again."));
    timers.set(field, setTimeout(() => check(field), 400));
  });

  const check = async (field) => {
    const into = document.querySelector(field.dataset.checkInto);
    const input = JSON.parse(field.dataset.checkInput || "{}");
    place(input, field.dataset.checkField, field.value);
    try {
      const told = await call(field.dataset.check, input);
      const rows = told.problems || told.items?.flatMap((one) => one.problems || []) || [];
      const lines = field.value.split("\n");
      const words = rows.map((one) => problemRow(one, lines));
      into.replaceChildren(words.length ? make("ol", { class: "rows one" }, ...words) : make("p", { class: "soft" }, "No problems."));
      if (field.dataset.preview) await preview(call, field, rows.some((one) => one.severity === "error"));
    } catch (trouble) {
      into.replaceChildren(make("p", {}, trouble.message), ...(trouble.fix ? [make("p", { class: "soft" }, trouble.fix)] : []));
    }
  };
}

function takeDrops() {
  const zone = (event) => event.target.closest?.(".drop");
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const drop = zone(event);
      if (!drop) return;
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      const field = drop.querySelector("input[type=file]");
      if (kind === "drop" && field && event.dataTransfer.files.length) {
        field.files = event.dataTransfer.files;
        field.dispatchEvent(new Event("change", { bubbles: true }));
      }
    });
  }
}
