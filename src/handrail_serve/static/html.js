// The one module that turns text of the server into elements, through the one policy that the page allows.
// Morphing changes only what differs, so scroll, focus, selection and open details stay.

const plain = { createHTML: (text) => text };
const policy = window.trustedTypes ? window.trustedTypes.createPolicy("handrail", plain) : plain;

export function parse(text) {
  const holder = document.createElement("template");
  holder.innerHTML = policy.createHTML(text);
  return holder.content;
}

export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const keyOf = (node) => (node.nodeType === 1 ? node.id || node.dataset.key || "" : "");

export function morph(old, fresh) {
  const keyed = new Map();
  for (const child of old.children) if (keyOf(child)) keyed.set(keyOf(child), child);
  let cursor = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const key = keyOf(wanted);
    let match = key ? keyed.get(key) : null;
    if (!key) {
      match = cursor;
      while (match && keyOf(match)) match = match.nextSibling;
      if (match && match.nodeName !== wanted.nodeName) match = null;
    } else if (match && match.nodeName !== wanted.nodeName) match = null;
    if (match) {
      if (match === cursor) cursor = cursor.nextSibling;
      else old.insertBefore(match, cursor);
      sync(match, wanted);
      keyed.delete(key);
    } else old.insertBefore(wanted, cursor);
  }
  while (cursor) {
    const next = cursor.nextSibling;
    cursor.remove();
    cursor = next;
  }
}

function sync(old, fresh) {
  if (old.nodeType !== 1) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.nodeName === "TIME" && old.getAttribute("datetime") === fresh.getAttribute("datetime")) return;
  const isKept = (name) => (name === "open" && old.nodeName === "DETAILS") || name === "title";
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !isKept(name)) old.removeAttribute(name);
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value && !isKept(name)) old.setAttribute(name, value);
  }
  if (old.matches("input, textarea, select")) return;
  morph(old, fresh);
}
