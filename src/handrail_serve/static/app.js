// The Console: keeps the token of this tab, fetches pages, shows them, and follows what changes.

import { listen, openAnswers } from "{{actions.js}}";
import { make, morph, parse } from "{{html.js}}";
import { KEYS, listenToKeys } from "{{keyboard.js}}";
import { follow } from "{{live.js}}";
import { enter, findTeam, leave, renewing, signInPage, takeInvitation, takeSigned } from "{{sign_in.js}}";

const STORED = "handrail.token";
const COUNT_WAIT = 10000;
const main = document.getElementById("main");
const pill = document.getElementById("pill");
const said = document.getElementById("said");
const link = document.getElementById("link");
const box = document.getElementById("dialog");

// The token: from the fragment, which is erased at once, or from another tab of this browser

const channel = new BroadcastChannel("handrail");
let token = "";

let spare = "";
let typed = "";

function takeToken() {
  const found = /^#token=([\w-]{16,})$/.exec(location.hash);
  if (found) {
    spare = sessionStorage.getItem(STORED) || "";
    sessionStorage.setItem(STORED, found[1]);
    history.replaceState(null, "", location.pathname + location.search);
    channel.postMessage({ token: found[1] });
  }
  token = sessionStorage.getItem(STORED) || "";
}

function askTabs() {
  return new Promise((done) => {
    const answered = (isGiven) => {
      waitingForTabs = null;
      done(isGiven);
    };
    setTimeout(() => answered(false), 400);
    waitingForTabs = () => answered(true);
    channel.postMessage({ ask: true });
  });
}
let waitingForTabs = null;
let isLocked = false;

channel.addEventListener("message", ({ data }) => {
  if (data.ask && token) channel.postMessage({ token });
  else if (data.instead && data.instead === token) keepToken(data.token);
  else if (data.token && !token) {
    token = data.token;
    sessionStorage.setItem(STORED, token);
    if (waitingForTabs) waitingForTabs();
    else if (isLocked) start();
  }
});

function keepToken(fresh) {
  token = fresh;
  sessionStorage.setItem(STORED, token);
}

// Requests

class Trouble extends Error {
  constructor(message, fix = "", status = 0) {
    super(spellTimes(message));
    this.fix = fix;
    this.status = status;
  }
}

const authorized = (more = {}) => ({ Authorization: `Bearer ${token}`, ...more });

async function request(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    throw new Trouble("The server does not answer.", "Start it again with: handrail console", -1);
  }
  if (answer.ok) return answer;
  let told = {};
  try {
    told = await answer.json();
  } catch {
    // not a problem document: the status says enough
  }
  throw new Trouble(told.detail || told.title || `The server answered ${answer.status}.`, told.details?.hint || "", answer.status);
}

async function call(operation, input) {
  const answer = await request(`/api/${operation}`, {
    method: "POST",
    headers: authorized({ "Content-Type": "application/json", Accept: "application/json" }),
    body: JSON.stringify(input),
  });
  const told = await answer.json();
  return told.data ?? told;
}

async function fetchView(path) {
  const answer = await request(`/api/view${path}`, { headers: authorized({ Accept: "text/html" }) });
  return {
    content: parse(await answer.text()),
    title: decodeURIComponent(answer.headers.get("X-Handrail-Title") || "Handrail"),
    cursor: answer.headers.get("X-Handrail-Cursor") || "",
    needs: answer.headers.get("X-Handrail-Needs"),
    closed: (answer.headers.get("X-Handrail-Closed") || "").split(" "),
  };
}

// Pages

const bar = document.querySelectorAll("#nav a:not(#team)");
let serial = 0;
let pending = null;
const here = () => (location.pathname === "/" ? "/inbox" : location.pathname) + location.search;

async function show({ isBack = false, isFirst = false, then = null } = {}) {
  const mine = (serial += 1);
  main.setAttribute("aria-busy", "true");
  try {
    const by = token;
    const view = await fetchView(here());
    if (mine !== serial) return;
    dropPending();
    main.replaceChildren(view.content);
    shownAt = location.pathname + location.search + location.hash;
    if (by === token) spare = "";
    if (by === typed) channel.postMessage({ token: typed }), (typed = "");
    named = view.title;
    countNeeds(view.needs);
    for (const one of bar) one.hidden = view.closed.includes(one.getAttribute("href"));
    feed.seen(view.cursor);
    arrive(isBack, isFirst);
    then?.();
  } catch (trouble) {
    if (mine === serial) (shownAt = ""), fail(trouble);
  } finally {
    if (mine === serial) main.removeAttribute("aria-busy");
  }
}

function arrive(isBack, isFirst) {
  tidy(main);
  for (const one of document.querySelectorAll(".bar nav a")) {
    const isHere = here().startsWith(one.getAttribute("href"));
    isHere ? one.setAttribute("aria-current", "page") : one.removeAttribute("aria-current");
  }
  const spot = location.hash && document.getElementById(location.hash.slice(1));
  if (spot) spot.scrollIntoView();
  else window.scrollTo(0, (isBack && history.state?.scroll) || 0);
  if (!isFirst) (main.querySelector(".inbox.open .pane h2 a") || main.querySelector("h1"))?.focus({ preventScroll: true });
}

// What waits for a person: a count in the title of the window, and a mark in its icon

const icon = document.getElementById("icon");
const plainIcon = icon.getAttribute("href");
let named = "";
let waiting = 0;
let countedAt = -COUNT_WAIT;

async function countNeeds(told) {
  showNeeds(told ?? waiting);
  if (told !== null) return;
  if (performance.now() - countedAt < COUNT_WAIT) return;
  countedAt = performance.now();
  try {
    const found = await call("session.inbox", { limit: 1, assigned: "me" });
    showNeeds(found.total - found.answered);
  } catch {
    // the page itself says what is wrong
  }
}

function showNeeds(count) {
  waiting = Number(count);
  document.getElementById("waiting-count").textContent = waiting || "";
  document.title = `${waiting ? `(${waiting}) ` : ""}${named} · Handrail`;
  const wanted = waiting ? icon.dataset.needs : plainIcon;
  if (icon.getAttribute("href") !== wanted) icon.setAttribute("href", wanted);
}

// What somebody typed is theirs: nothing replaces it unasked

const isChanged = (field) => {
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  if (field.type === "file") return field.files.length > 0;
  if (field.nodeName === "SELECT") return field.selectedIndex !== Math.max(0, [...field.options].findIndex((one) => one.defaultSelected));
  return field.value !== field.defaultValue;
};
const fields = () => [...main.querySelectorAll("form[data-operation] :is(input, textarea, select)")];
const hasTyped = () => fields().some(isChanged);
const isWriting = () => hasTyped() || fields().includes(document.activeElement);

// After an answer the page is fetched again: what was typed into other forms stays, and so does the place.
const spot = (field) => `${field.form.dataset.operation} ${field.form.dataset.input} ${field.name}`;

async function reload() {
  const kept = new Map(fields().filter((one) => one.type !== "file" && isChanged(one)).map((one) => [spot(one), one]));
  const [top, at] = [window.scrollY, document.activeElement?.closest("main [id]")?.id];
  await show({ isBack: true });
  for (const one of fields()) {
    const old = kept.get(spot(one));
    if (old) [one.value, one.checked] = [old.value, old.checked];
  }
  window.scrollTo(0, top);
  const near = at && document.getElementById(at);
  (near?.querySelector("a, button") || main.querySelector("h1"))?.focus({ preventScroll: true });
}

async function mayLeave() {
  if (!hasTyped()) return true;
  return dialog("Leave what you typed?", [make("p", {}, "It is not saved, and goes when you leave.")], "Leave it", true);
}
window.addEventListener("beforeunload", (event) => {
  if (hasTyped()) event.preventDefault();
});

async function ask(path, then = null) {
  if (await mayLeave()) go(path, then);
}

async function goBack() {
  const to = location.pathname + location.search + location.hash;
  const isHere = location.pathname + location.search === shownAt.split("#")[0] && !main.hasAttribute("aria-busy");
  if (isHere) return void (shownAt = to); // a link inside the page, which the browser follows itself
  if (!hasTyped()) return show({ isBack: true });
  history.pushState(null, "", shownAt);
  await ask(to);
}

let shownAt = "";
function go(path, then = null) {
  history.replaceState({ ...history.state, scroll: window.scrollY }, "");
  history.pushState(null, "", path);
  show({ then });
}

function fail(trouble) {
  if (trouble.status === 401) return lock();
  const isGone = trouble.status === -1;
  if (isGone) state("gone");
  const again = make("button", { type: "button", class: "button" }, "Try again");
  again.addEventListener("click", () => show());
  main.replaceChildren(
    make(
      "div",
      { class: "empty" },
      make("h1", { tabindex: "-1" }, trouble.status === 404 ? "There is nothing here" : trouble.message),
      make("p", {}, trouble.status === 404 ? trouble.message : trouble.fix),
      make("div", { class: "cluster" }, again, make("a", { class: "button", href: "/sessions" }, "All sessions")),
    ),
  );
  document.title = "Handrail";
  main.querySelector("h1").focus({ preventScroll: true });
}

function drop() {
  token = "";
  isLocked = true;
  sessionStorage.removeItem(STORED);
  feed.stop();
  state("locked");
}

// A link with a wrong key does not take away the right one.
function regain() {
  if (!spare) return false;
  token = spare;
  spare = "";
  sessionStorage.setItem(STORED, token);
  start();
  return true;
}

// The server is another one by now. What somebody reads stays; the next page, or a tab with the key, goes on.
async function lose() {
  drop();
  if (regain()) return;
  if (await askTabs()) return start();
  said.textContent = "This tab is locked. Open the Console from a terminal: handrail console";
}

async function lock() {
  const isRefused = Boolean(token);
  drop();
  if (regain()) return;
  const team = await findTeam();
  if (team) return showSignIn(team);
  const again = make("button", { type: "button", class: "button" }, "Ask the other tabs again");
  again.addEventListener("click", start);
  main.replaceChildren(
    make(
      "div",
      { class: "empty" },
      make("h1", { tabindex: "-1" }, "This tab is locked"),
      make("p", {}, "The Console belongs to whoever started it. Open it from a terminal on this machine; every start has a key of its own."),
      make("pre", {}, "handrail console"),
      make("p", {}, "Where it can open no browser, it names a file: enter the consoleToken of that file here."),
      unlockForm(isRefused),
      again,
    ),
  );
  document.title = "Locked · Handrail";
}

// Nobody is led to pages that open to nobody yet.
function showPlace({ isTeam, isIn }) {
  document.getElementById("nav").hidden = isTeam && !isIn;
  document.getElementById("team").hidden = !isTeam;
  document.getElementById("where").hidden = isTeam;
}

function showSignIn(team) {
  main.replaceChildren(
    signInPage(team, invitation, (fresh) => {
      invitation = "";
      if (location.pathname === "/join") history.replaceState(null, "", "/");
      keepToken(fresh);
      start();
    }),
  );
  showPlace({ isTeam: true, isIn: false });
  document.title = `${invitation ? "Join" : "Sign in"} · Handrail`;
}

function unlockForm(isRefused) {
  const field = make("input", { type: "password", autocomplete: "off", spellcheck: "false", "aria-describedby": "refused" });
  const form = make(
    "form",
    { class: "stack tight" },
    make("label", { class: "field" }, "Key (consoleToken)", field),
    make("p", { id: "refused", class: "small", role: "status" }, isRefused ? "The server does not know the token that this tab had." : ""),
    make("div", { class: "cluster" }, make("button", { type: "submit", class: "button main" }, "Unlock")),
  );
  form.addEventListener("submit", () => {
    if (!field.value.trim()) return;
    token = typed = field.value.trim(); // the other tabs get it once the server has taken it
    sessionStorage.setItem(STORED, token);
    start();
  });
  return form;
}

// Changes

const WORDS = { step: ["new step", "new steps"], session: ["change", "changes"], moment: ["new moment", "new moments"] };
const keysOf = (root) => [...root.querySelectorAll("[data-key]")].map((one) => one.dataset.key).filter((key) => !key.startsWith("aside "));

async function refresh(ids) {
  const live = main.querySelector(".page[data-live]")?.dataset.live.split(" ");
  if (!live || !(live.includes("*") || ids.has("*") || live.some((one) => ids.has(one)))) return;
  const path = here();
  const mine = serial;
  let view;
  try {
    view = await fetchView(path);
  } catch (trouble) {
    if (trouble.status === 401) lose();
    return;
  }
  if (mine !== serial || path !== here()) return;
  countNeeds(view.needs);
  const known = new Set(keysOf(main));
  const added = keysOf(view.content).filter((key) => !known.has(key));
  const isKept = isWriting();
  if (!added.length && !isKept) return apply(view.content);
  const [one, many] = WORDS[main.querySelector(".page").dataset.new] || WORDS.session;
  const words = added.length ? `${added.length} ${added.length === 1 ? one : many}` : "This page has changed";
  if (isKept || isReading()) {
    pending = { content: view.content, first: added[0] };
    patchHead(view.content);
    if (pill.textContent !== words) pill.textContent = said.textContent = words;
    pill.hidden = false;
  } else {
    apply(view.content);
    said.textContent = words;
  }
}

function isReading() {
  const focused = document.activeElement;
  const inside = main.contains(focused) && focused !== main && focused.nodeName !== "H1";
  return inside || window.scrollY > 40 || !(getSelection()?.isCollapsed ?? true) || !pill.hidden;
}

function patchHead(content) {
  for (const name of ["head", "summary"]) {
    const [old, fresh] = [main.querySelector(`#${name}`), content.querySelector(`#${name}`)];
    if (old && fresh && !old.contains(document.activeElement)) morph(old, fresh.cloneNode(true)), tidy(old);
  }
}

function apply(content) {
  dropPending();
  morph(main, content);
  tidy(main);
}

async function showNew() {
  if (!pending || !(await mayLeave()) || !pending) return;
  const { content, first } = pending;
  apply(content);
  const added = [...main.querySelectorAll("[data-key]")].find((one) => one.dataset.key === first);
  added?.querySelector("a, summary, button")?.focus();
}

function dropPending() {
  pending = null;
  pill.hidden = true;
  pill.textContent = "";
}

// Small things

const STATES = {
  live: ["live", "live"],
  paused: ["", "paused"],
  behind: ["", "catching up"],
  connecting: ["", "connecting"],
  gone: ["gone", "server gone"],
  locked: ["", "locked"],
};

const HINTS = { gone: "What you see stays. Start the server again with: handrail console", locked: "Open the Console from a terminal: handrail console" };

function state(name) {
  const [look, word] = STATES[name];
  link.className = `link-state ${look}`;
  if (link.textContent === word) return;
  if (name === "gone") said.textContent = "The server does not answer. What you see stays, and follows when it is back.";
  if (name === "live" && link.textContent === STATES.gone[1]) said.textContent = "The server is back.";
  link.textContent = word;
  link.title = HINTS[name] || "";
}

const FORMATS = {
  time: new Intl.DateTimeFormat(undefined, { timeStyle: "medium" }),
  today: new Intl.DateTimeFormat(undefined, { timeStyle: "short" }),
  thisYear: new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" }),
  before: new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" }),
};

// Messages of operations have times as the log has them; a reader sees their own.
function spellTimes(text) {
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (found) => {
    const at = new Date(found);
    return FORMATS[at.toDateString() === new Date().toDateString() ? "time" : "before"].format(at);
  });
}

const AGO = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];

function ago(at, now) {
  const seconds = Math.max(0, (now - at) / 1000);
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) || ["minute", 60];
  return seconds < 60 ? "just now" : AGO.format(-Math.floor(seconds / size), unit);
}

function tidy(root) {
  openAnswers(root);
  const now = new Date();
  for (const one of root.querySelectorAll("time")) {
    const at = new Date(one.dateTime);
    one.dataset.as ||= one.textContent.length > 14 ? "day" : "time";
    one.title ||= `${one.dateTime.slice(0, 19).replace("T", " ")} UTC`;
    const isToday = at.toDateString() === now.toDateString();
    const format =
      isToday ? (one.dataset.as === "time" ? "time" : "today") : at.getFullYear() === now.getFullYear() ? "thisYear" : "before";
    const words = one.dataset.as === "ago" ? ago(at, now) : FORMATS[format].format(at);
    if (one.textContent !== words) one.textContent = words;
  }
}
setInterval(() => tidy(main), 60000);

let toastTimer = 0;
function say(text) {
  said.textContent = text;
  document.querySelector(".toast")?.remove();
  document.body.append(make("div", { class: "toast", "aria-hidden": "true" }, text));
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => document.querySelector(".toast")?.remove(), 4000);
}

function dialog(title, parts, yes = "", isDanger = false) {
  return new Promise((done) => {
    const no = make("button", { type: "button", class: "button", value: "" }, yes ? "Cancel" : "Close");
    const ok = yes ? [make("button", { type: "button", class: `button ${isDanger ? "danger" : "main"}` }, yes)] : [];
    no.addEventListener("click", () => box.close());
    ok[0]?.addEventListener("click", () => box.close("yes"));
    box.returnValue = "";
    box.replaceChildren(make("div", { class: "stack" }, make("h2", { id: "dialog-title" }, title), ...parts, make("div", { class: "cluster" }, ...ok, no)));
    box.addEventListener("close", () => done(box.returnValue === "yes"), { once: true });
    box.showModal();
  });
}

function help() {
  const rows = KEYS.flatMap(([key, words]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, words)]);
  dialog("Keyboard", [make("dl", { class: "keys" }, ...rows)]);
}

let marked = null;
function compare() {
  const spot = document.activeElement?.dataset;
  const node = spot?.node || spot?.at || main.querySelector(".page")?.dataset.node;
  const session = /^\/sessions\/([^/]+)/.exec(location.pathname)?.[1];
  if (!node || !session) return say("Choose a node first: j and k move, c marks.");
  if (!marked || marked.session !== session || marked.node === node) {
    marked = { session, node };
    return say("Marked. Press c on another node of this session to compare.");
  }
  const other = marked.node;
  marked = null;
  ask(`/sessions/${session}/compare/${encodeURIComponent(other)}/${encodeURIComponent(node)}`);
}

// Start

function isOurs(anchor) {
  return anchor.origin === location.origin && !anchor.target && !anchor.hasAttribute("download") && !/^\/(api|assets|mcp|health|sign-in|_lafs|\.well-known)/.test(anchor.pathname);
}

document.addEventListener("click", (event) => {
  const anchor = event.target.closest("a[href]");
  if (!anchor || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (anchor.getAttribute("href").startsWith("#") || !isOurs(anchor)) return;
  event.preventDefault();
  ask(anchor.pathname + anchor.search + anchor.hash);
});
window.addEventListener("popstate", goBack);
window.addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) {
    takeToken();
    start();
  }
});
pill.addEventListener("click", showNew);
document.getElementById("help").addEventListener("click", help);
listen({ call, go, ask, reload, say, dialog });
listenToKeys({ main, go: ask, help, say, compare, showNew });

let invitation = takeInvitation();

async function start() {
  if (invitation || (!token && !(await askTabs()))) return lock();
  isLocked = false;
  const isTeam = token.startsWith("hrp_"); // a token of a person, where there are accounts
  showPlace({ isTeam, isIn: true });
  if (main.querySelector(".page[data-live]")) await refresh(new Set("*"));
  else await show({ isFirst: true });
  if (token) feed.start();
}

const feed = follow({
  open: (path, signal) => fetch(path, { headers: authorized({ Accept: "text/event-stream" }), signal }),
  onChange: refresh,
  onState: state,
  onLocked: lose,
});
renewing(() => token, (fresh, instead) => {
  channel.postMessage({ token: fresh, instead });
  if (token === instead) keepToken(fresh);
});
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-leave], [data-enter]");
  if (!button) return;
  if (!("enter" in button.dataset)) {
    await leave(token);
    return lock();
  }
  keepToken((await enter(button.dataset.enter, token)).token);
  feed.stop();
  go("/sessions");
  feed.start();
});
history.scrollRestoration = "manual";
takeToken();
takeSigned().then((signed) => {
  if (signed) keepToken(signed);
  start();
});
