// Unlocks the page and shows what the server renders for its address.
const policy = trustedTypes?.createPolicy("handrail", { createHTML: (html) => html }) ?? { createHTML: (html) => html };
const fragment = new URLSearchParams(location.hash.slice(1));
if (fragment.has("token")) {
  sessionStorage.setItem("handrail.token", fragment.get("token"));
  history.replaceState(null, "", location.pathname + location.search);
}

async function show() {
  const token = sessionStorage.getItem("handrail.token");
  if (!token) return;
  const main = document.querySelector("main");
  const path = location.pathname === "/" ? "/sessions" : location.pathname;
  const answer = await fetch("/api/view" + path + location.search, {
    headers: { Authorization: "Bearer " + token, Accept: "text/html" },
  });
  if (answer.ok) {
    main.innerHTML = policy.createHTML(await answer.text());
    document.title = decodeURIComponent(answer.headers.get("X-Handrail-Title") ?? "Handrail");
  } else {
    const problem = await answer.json();
    main.textContent = problem.detail + " " + problem.details.hint;
  }
}

show();
