"""A person with a browser: visits the Console in Chromium and tells, as JSON, what it found.

Runs with the interpreter that has playwright: `browser.py PLAN`, where PLAN is a JSON file with `address`,
`token`, `chromium`, `axe`, `visit`, and what the visit needs. Talks on stdin and stdout, a line each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WAIT_MS = 60_000
AXE_RUN = """async () => {
  const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const told = (node) => node.target.join(" ") + " (" + node.failureSummary.replaceAll("\\n", " ") + ")";
  const { violations } = await axe.run(document, { runOnly: rules });
  return violations.map((one) => one.id + ": " + one.nodes.slice(0, 3).map(told).join(", "));
}"""
WIDER = "() => Math.max(0, document.documentElement.scrollWidth - innerWidth)"


class Visitor:
    """One browser; what any of its pages complains about is kept."""

    def __init__(self, browser: Browser, plan: dict[str, Any]) -> None:
        self.browser = browser
        self.plan = plan
        self.complaints: list[str] = []
        self.addresses: set[str] = set()

    def context(self, theme: str = "light", width: int = 1280) -> BrowserContext:
        made = self.browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=theme, reduced_motion="reduce"
        )
        made.set_default_timeout(WAIT_MS)
        return made

    def page(self, context: BrowserContext) -> Page:
        page = context.new_page()
        page.on("console", self._hear)
        page.on("pageerror", lambda trouble: self.complaints.append(f"error: {trouble}"))
        page.on("request", lambda request: self.addresses.add(request.url))
        return page

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def unlocked(self, context: BrowserContext, path: str = "/sessions") -> Page:
        page = self.page(context)
        page.goto(f"{self.plan['address']}{path.lstrip('/')}#token={self.plan['token']}")
        self.settled(page)
        return page

    def go(self, page: Page, path: str) -> None:
        page.goto(self.plan["address"] + path.lstrip("/"))
        self.settled(page)

    def settled(self, page: Page) -> None:
        page.locator("main h1").first.wait_for()
        page.locator("main:not([aria-busy])").wait_for()


def visit_every_page(visitor: Visitor) -> dict[str, Any]:
    """axe, sideways scrolling and complaints, on every page in both themes and all widths."""
    with open(visitor.plan["axe"], encoding="utf-8") as file:
        axe = file.read()
    found: dict[str, Any] = {"violations": [], "wider": [], "visited": 0}
    for theme in visitor.plan["themes"]:
        for width in visitor.plan["widths"]:
            context = visitor.context(theme, width)
            page = visitor.unlocked(context)
            for path in visitor.plan["paths"]:
                visitor.go(page, path)
                where = f"{path} {theme} {width}"
                for details in page.locator("main details").all():
                    details.evaluate("(one) => { one.open = true; }")
                page.evaluate(axe)
                found["violations"] += [f"{where}: {one}" for one in page.evaluate(AXE_RUN)]
                if page.evaluate(WIDER):
                    found["wider"].append(f"{where}: {page.evaluate(WIDER)} px")
                found["visited"] += 1
                if visitor.plan.get("pictures"):
                    name = path.strip("/").replace("/", "-")[:60] or "home"
                    page.screenshot(
                        path=f"{visitor.plan['pictures']}/{name}-{theme}-{width}.png", full_page=True
                    )
            found["cookies"] = context.cookies()
            found["stored"] = page.evaluate("() => [localStorage.length, Object.keys(sessionStorage)]")
            found["text_has_token"] = visitor.plan["token"] in page.locator("html").inner_html()
            context.close()
    return found


def visit_from_outside(visitor: Visitor) -> dict[str, Any]:
    """Another profile is locked, another tab of the same one is not; an address is a page after reload."""
    context = visitor.context()
    page = visitor.unlocked(context)
    address = page.url
    other_tab = visitor.page(context)
    other_tab.goto(visitor.plan["address"] + visitor.plan["paths"][1].lstrip("/"))
    visitor.settled(other_tab)
    tab_title = other_tab.locator("main h1").inner_text()
    other_tab.reload()
    visitor.settled(other_tab)
    stranger = visitor.context()
    locked = visitor.page(stranger)
    locked.goto(visitor.plan["address"] + visitor.plan["paths"][1].lstrip("/"))
    visitor.settled(locked)
    return {
        "address": address,
        "tab": tab_title,
        "after_reload": other_tab.locator("main h1").inner_text(),
        "locked": locked.locator("main").inner_text(),
        "cookies": context.cookies() + stranger.cookies(),
    }


def visit_by_keyboard(visitor: Visitor) -> dict[str, Any]:
    """Find the blocked run, read why, go to the step that waits, answer, compare two branches, export."""
    context = visitor.context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visitor.unlocked(context)
    keys = page.keyboard
    found: dict[str, Any] = {}
    keys.press("?")
    found["help"] = page.locator("dialog[open]").inner_text()
    keys.press("Escape")
    keys.press("/")
    found["search_focused"] = page.evaluate("() => document.activeElement.name")
    keys.type(visitor.plan["blocked_goal"])
    keys.press("Enter")
    visitor.settled(page)
    keys.press("j")
    keys.press("Enter")
    page.locator("#rail").wait_for()
    found["run"] = page.locator("h1").inner_text()
    page.locator("#waiting a").focus()
    keys.press("Enter")
    page.locator(".notice.bad", has_text="Why this report").wait_for()
    found["why"] = page.locator(".notice.bad").inner_text()
    keys.press("y")
    page.locator(".toast").wait_for()
    found["resume"] = page.evaluate("() => navigator.clipboard.readText()")
    keys.press("g")
    keys.press("s")
    page.locator("#sessions").wait_for()
    visitor.go(page, visitor.plan["forked"])
    keys.press("]")
    keys.press("]")
    keys.press("j")
    found["focused"] = page.evaluate("() => document.activeElement.textContent")
    keys.press("c")
    page.locator(".toast").wait_for()
    for _ in range(3):
        keys.press("j")
    keys.press("c")
    page.locator(".sides").first.wait_for()
    found["compared"] = page.locator("main").inner_text()
    page.go_back()
    visitor.settled(page)
    found["back"] = page.locator("h1").inner_text()
    return found


def visit_answering(visitor: Visitor) -> dict[str, Any]:
    """Answer for the step that waits, see the run move on, and take the report home."""
    context = visitor.context()
    page = visitor.unlocked(context, visitor.plan["waiting"])
    keys = page.keyboard
    page.locator("#link.live").wait_for()
    page.locator("#waiting a.main").focus()
    keys.press("Enter")
    page.locator("#confirm").wait_for()
    question = page.locator("#confirm").inner_text()
    page.locator("#confirm button[value=yes]").focus()
    keys.press("Enter")
    page.locator("#confirm .badge", has_text="confirmed").wait_for()
    visitor.go(page, visitor.plan["waiting"])
    page.locator("#link.live").wait_for()
    _tell({"confirmed": True})
    _hear_line()
    page.locator("#now", has_text=visitor.plan["next_step"]).wait_for()
    moved = page.locator("#now").inner_text()
    visitor.go(page, visitor.plan["export"])
    button = page.locator("button[data-download$='.html']")
    with page.expect_download() as waiting:
        button.focus()
        keys.press("Enter")
    with open(waiting.value.path(), encoding="utf-8") as file:
        report = file.read()
    return {
        "question": question,
        "moved": moved,
        "report": report[:200],
        "report_has_script": "<script" in report,
    }


def visit_live(visitor: Visitor) -> dict[str, Any]:
    """While somebody reads, steps are added: nothing moves, a button counts them, no page is loaded again."""
    context = visitor.context()
    page = visitor.unlocked(context, visitor.plan["long"])
    page.locator("#link.live").wait_for()
    loads: list[str] = []
    page.on("load", lambda _: loads.append(page.url))
    page.evaluate("() => { scrollTo(0, 600); }")
    spot = page.locator(".rail a.spot").nth(25)
    spot.focus()
    before = page.evaluate("() => [scrollY, document.activeElement.dataset.node]")
    _tell({"ready": True})
    _hear_line()
    page.locator("#pill", has_text=f"{visitor.plan['appended']} new steps").wait_for()
    after = page.evaluate("() => [scrollY, document.activeElement.dataset.node]")
    page.locator("#pill").click()
    page.locator("#pill").wait_for(state="hidden")
    shown = page.evaluate("() => document.querySelectorAll('.rail a.spot[data-node]').length")
    return {
        "before": before,
        "after": after,
        "loads": loads,
        "shown": shown,
        "said": page.locator("#said").inner_text(),
    }


def visit_restarted(visitor: Visitor) -> dict[str, Any]:
    """The server goes away and comes back: the page stays, says so, and follows again."""
    context = visitor.context()
    page = visitor.unlocked(context, visitor.plan["long"])
    page.locator("#link.live").wait_for()
    _tell({"ready": True})
    _hear_line()
    page.locator("#link.gone").wait_for()
    title = page.locator("h1").inner_text()
    _tell({"gone": True})
    _hear_line()
    page.locator("#link.live").wait_for()
    return {"title": title, "still": page.locator("h1").inner_text()}


VISITS: dict[str, Callable[[Visitor], dict[str, Any]]] = {
    "every_page": visit_every_page,
    "from_outside": visit_from_outside,
    "by_keyboard": visit_by_keyboard,
    "answering": visit_answering,
    "live": visit_live,
    "restarted": visit_restarted,
}


def _tell(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


def _hear_line() -> str:
    line = sys.stdin.readline()
    assert line, "the test has ended"
    return line


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=plan["chromium"], args=list(FLAGS))
        visitor = Visitor(browser, plan)
        found = VISITS[plan["visit"]](visitor)
        browser.close()
    _tell({**found, "complaints": visitor.complaints, "addresses": sorted(visitor.addresses)})


if __name__ == "__main__":
    main()
