// Keys: one letter each, never while somebody types, and everything they do has a button or link too.

export const KEYS = [
  ["j  k", "Next and previous node or row"],
  ["[  ]", "Previous and next branch"],
  ["Enter", "Open"],
  ["/", "Search"],
  ["g i", "Inbox"],
  ["g s", "Sessions"],
  ["g w", "Workflows"],
  ["c", "Compare: press it on one node, then on another"],
  ["y  n", "Answer yes or no"],
  ["1–9", "Choose an option"],
  ["p", "Copy the resume prompt"],
  ["n", "Show what is new, where nothing is asked"],
  ["?", "This help"],
];

export function listenToKeys({ main, go, help, say, compare, showNew }) {
  let isGoing = false;
  let forgetting = 0;

  const items = () => [...main.querySelectorAll("a.row-link, .rail a.spot, #lanes a")].filter((one) => one.checkVisibility());
  const branches = () => [...main.querySelectorAll("details[data-branch] > summary")].filter((one) => one.checkVisibility());
  const press = (key) => {
    const found = [...main.querySelectorAll(`[data-key-press="${key}"]`)].find((one) => one.checkVisibility());
    found?.click();
    return Boolean(found);
  };

  const step = (list, by) => {
    const active = document.activeElement;
    const isAfter = (one) => active.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING;
    let at = list.indexOf(active);
    if (at < 0 && main.contains(active)) {
      const following = list.findIndex(isAfter);
      at = (following < 0 ? list.length : following) - (by > 0 ? 1 : 0);
    } else if (at < 0 && by < 0) at = list.length;
    const next = list[Math.min(list.length - 1, Math.max(0, at + by))];
    next?.focus();
    return next;
  };

  const move = (by) => (follow(by) ? undefined : items().length ? step(items(), by) : press(by > 0 ? "j" : "k"));

  // In the inbox the item that is read moves with the keys, as far as both stand beside each other. An item
  // that was answered goes to the end of the list, or leaves it: the next one is then where it stood before.
  let place = 0;
  const follow = (by) => {
    const rows = [...main.querySelectorAll("[data-follow] a.row-link")];
    const isOpen = (one) => one && !one.closest("li").classList.contains("answered");
    const at = rows.findIndex((one) => one.hasAttribute("aria-current"));
    if (!rows[0]?.checkVisibility()) return false;
    const hasMoved = !isOpen(rows[at]) && isOpen(rows[0]);
    const wanted = hasMoved ? place - (by > 0 ? 0 : 1) : at + by;
    const next = hasMoved && !isOpen(rows[wanted]) ? rows.find(isOpen) : rows[wanted];
    place = Math.max(0, rows.indexOf(next));
    if (next) go(next.getAttribute("href"), () => main.querySelector("[data-follow] a[aria-current]")?.focus());
    return true;
  };

  const branch = (by) => {
    const found = step(branches(), by);
    if (found) found.parentElement.open = true;
    else say("This run has no branches.");
  };

  const search = () => {
    const field = main.querySelector('[data-key-focus="/"]');
    if (field) field.focus();
    else go("/sessions", () => main.querySelector('[data-key-focus="/"]')?.focus());
  };

  const act = {
    j: () => move(1),
    k: () => move(-1),
    "[": () => branch(-1),
    "]": () => branch(1),
    "/": search,
    c: compare,
    y: () => press("y"),
    n: () => press("n") || showNew(),
    p: () => press("p"),
    ...Object.fromEntries([..."123456789"].map((digit) => [digit, () => press(digit)])),
    "?": help,
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable], dialog")) return;
    if (isGoing) {
      isGoing = false;
      const to = { i: "/inbox", s: "/sessions", w: "/workflows" }[event.key];
      if (to) {
        event.preventDefault();
        go(to);
      }
      return;
    }
    if (event.key === "g") {
      isGoing = true;
      clearTimeout(forgetting); // that of an earlier `g` would end this one
      forgetting = setTimeout(() => (isGoing = false), 1500);
      return;
    }
    if (!Object.hasOwn(act, event.key)) return;
    event.preventDefault();
    act[event.key]();
  });
}
