// Signing in to a team: with an invitation, a passphrase or the company's provider. The answer is a token for this tab.

import { make } from "{{html.js}}";

const RENEW = 3600000;

// Null: this server has no accounts.
export async function findTeam() {
  try {
    const answer = await fetch("/sign-in");
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

async function send(way, given, token = "") {
  const headers = { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const answer = await fetch(`/sign-in/${way}`, { method: "POST", headers, body: JSON.stringify(given) });
  const told = await answer.json();
  if (!answer.ok) throw new Error([told.detail, told.details?.hint].filter(Boolean).join(" "));
  return told;
}

export const leave = (token) => send("leave", {}, token).catch(() => null);
export const enter = (workspace, token) => send("enter", { workspace }, token);

// A token is replaced by use, so one that was copied out of a tab does not live long.
export function renewing(current, take) {
  setInterval(async () => {
    const before = current();
    if (!before || document.hidden) return;
    try {
      take((await send("renew", {}, before)).token, before);
    } catch {
      // the next request says what is wrong
    }
  }, RENEW);
}

// What the provider leads back to is good in the tab that left for it, and in no other.
const BOUND = "handrail.bound";
async function digest(text) {
  const found = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(found)].map((one) => one.toString(16).padStart(2, "0")).join("");
}

async function bind() {
  const chance = crypto.randomUUID();
  sessionStorage.setItem(BOUND, chance);
  return digest(chance);
}

export async function takeSigned() {
  const found = /^#signed=([\w-]{16,})\.([0-9a-f]{64})$/.exec(location.hash);
  if (!found) return "";
  history.replaceState(null, "", location.pathname);
  const chance = sessionStorage.getItem(BOUND);
  sessionStorage.removeItem(BOUND);
  return chance && (await digest(chance)) === found[2] ? found[1] : "";
}

export function takeInvitation() {
  const found = /^#invitation=([\w-]{16,})$/.exec(location.hash);
  if (found) history.replaceState(null, "", "/join");
  return found ? found[1] : "";
}

export function signInPage(team, invitation, take) {
  const name = make("input", { name: "name", autocomplete: "username", required: "", maxlength: "128" });
  const words = make("input", { name: "passphrase", type: "password", autocomplete: invitation ? "new-password" : "current-password", required: "" });
  const trouble = make("p", { class: "small", role: "status" }, "");
  const form = make(
    "form",
    { class: "stack tight" },
    make("label", { class: "field" }, "Name", name),
    make("label", { class: "field" }, invitation ? "Passphrase, at least 12 characters" : "Passphrase", words),
    trouble,
    make("div", { class: "cluster" }, make("button", { type: "submit", class: "button main" }, invitation ? "Join" : "Sign in")),
  );
  form.addEventListener("submit", async () => {
    try {
      const given = { name: name.value, passphrase: words.value };
      take((await send(invitation ? "invitation" : "passphrase", invitation ? { ...given, invitation } : given)).token);
    } catch (cause) {
      trouble.textContent = cause.message;
    }
  });
  const elsewhere = team.ways.includes("provider")
    ? [make("button", { type: "button", class: "button" }, "Sign in with your company")]
    : [];
  elsewhere[0]?.addEventListener("click", async () => {
    const asked = new URLSearchParams({ binding: await bind(), ...(invitation ? { invitation } : {}) });
    location.assign(`/sign-in/provider?${asked}`);
  });
  return make(
    "div",
    { class: "empty" },
    make("h1", { tabindex: "-1" }, invitation ? "Join this team" : "Sign in"),
    make("p", {}, invitation ? "Choose the name and passphrase that you sign in with from now on." : "People sign in here; agents work with tokens that their person makes under Team."),
    form,
    ...elsewhere,
  );
}
