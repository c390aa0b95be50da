"""A person with a browser: visits the Console in Chromium and tells, as JSON, what it found.

Runs with the interpreter that has playwright: `browser.py CHROMIUM AXE`. Each line of stdin is a plan with
`visit`, `address`, `token` and what the visit needs; the answer is a line too. In between a visit says where
it is (`{"at": …}`) and goes on after a line.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from approving import approve, read_again, set_roots  # type: ignore[import-not-found]  # as below
from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright
from supervising import supervise  # type: ignore[import-not-found]  # beside this script, which runs alone

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
MOST_TABS = 150
AXE_RUN = """async () => {
  const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const told = (node) => node.target.join(" ") + " (" + node.failureSummary.replaceAll("\\n", " ") + ")";
  const { violations } = await axe.run(document, { runOnly, resultTypes: ["violations"] });
  return violations.map((one) => one.id + ": " + one.nodes.slice(0, 3).map(told).join(", "));
}"""
WIDER = "() => Math.max(0, document.documentElement.scrollWidth - innerWidth)"
OPEN_ALL = "() => { for (const one of document.querySelectorAll('main details')) one.open = true; }"
FOLLOW = """(path) => {
  const link = document.createElement("a");
  link.href = path;
  document.body.append(link);
  link.click();
  link.remove();
}"""
REPORT_VIOLATIONS = """addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});"""
TEXTS = """() => {
  const copy = document.querySelector("main").cloneNode(true);
  for (const one of copy.querySelectorAll("time, code, pre, svg, .prose, option, input, kbd")) one.remove();
  const texts = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) found.push(texts.currentNode.data);
  return found;
}"""


class Visitor:
    """The browser; what any of its pages complains about during a visit is kept."""

    def __init__(self, browser: Browser, axe: str) -> None:
        self.browser = browser
        self.axe = axe
        self.plan: dict[str, Any] = {}
        self.complaints: list[str] = []
        self.addresses: set[str] = set()
        self.contexts: list[BrowserContext] = []
        self.violations: list[str] = []
        self.wider: list[str] = []

    def begin(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.complaints = []
        self.addresses = set()

    def end(self) -> None:
        for context in self.contexts:
            context.close()
        self.contexts = []

    def context(self, width: int = 1280, **more: Any) -> BrowserContext:
        made = self.browser.new_context(
            viewport={"width": width, "height": 800}, reduced_motion="reduce", **more
        )
        made.set_default_timeout(WAIT_MS)
        made.add_init_script(REPORT_VIOLATIONS)
        self.contexts.append(made)
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
        """As an address that somebody was given."""
        page.goto(self.plan["address"] + path.lstrip("/"))
        self.settled(page)

    def follow(self, page: Page, path: str) -> None:
        """As a link of the page, which loads no page."""
        page.evaluate(FOLLOW, path)
        self.settled(page)

    def settled(self, page: Page) -> None:
        page.locator("main:not([aria-busy])").wait_for()
        page.locator("main h1").first.wait_for()

    def tab_to(self, page: Page, selector: str) -> None:
        """By the Tab key alone."""
        for _ in range(MOST_TABS):
            if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"{selector} is not within {MOST_TABS} tabs")

    def tab_back_to(self, page: Page, selector: str) -> None:
        """By Shift and the Tab key alone."""
        for _ in range(MOST_TABS):
            if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
                return
            page.keyboard.press("Shift+Tab")
        raise AssertionError(f"{selector} is not within {MOST_TABS} tabs")

    def press(self, page: Page, selector: str) -> None:
        """Reach it by Tab and press Enter."""
        self.tab_to(page, selector)
        page.keyboard.press("Enter")


def visit_every_page(visitor: Visitor) -> dict[str, Any]:
    """axe, sideways scrolling and complaints, on every page in a theme and at all widths."""
    found: dict[str, Any] = {"violations": [], "wider": [], "visited": [], "has_token": []}
    theme, widths = visitor.plan["theme"], visitor.plan["widths"]
    context = visitor.context(color_scheme=theme)
    page = visitor.unlocked(context)
    page.evaluate(visitor.axe)
    plan = [
        *((path, widths) for path in visitor.plan["paths"]),
        *((path, widths[-1:]) for path in visitor.plan["further"]),
    ]
    for path, wanted in plan:
        visitor.follow(page, path)
        page.evaluate(OPEN_ALL)
        for width in wanted:
            page.set_viewport_size({"width": width, "height": 800})
            where = f"{path} {theme} {width}"
            found["violations"] += [f"{where}: {one}" for one in page.evaluate(AXE_RUN)]
            if page.evaluate(WIDER):
                found["wider"].append(f"{where}: {page.evaluate(WIDER)} px")
            found["visited"].append(where)
        if visitor.plan["token"] in page.content() + page.url + page.title():
            found["has_token"].append(path)
    found["cookies"] = context.cookies()
    found["stored"] = page.evaluate("() => [localStorage.length, Object.keys(sessionStorage)]")
    return found


def visit_from_outside(visitor: Visitor) -> dict[str, Any]:
    """Another profile is locked, another tab of the same one is not; without a script the shell explains."""
    context = visitor.context()
    page = visitor.unlocked(context)
    wanted = visitor.plan["address"] + visitor.plan["run"].lstrip("/")
    other_tab = visitor.page(context)
    other_tab.goto(wanted)
    visitor.settled(other_tab)
    tab = other_tab.locator("main h1").inner_text()
    other_tab.reload()
    visitor.settled(other_tab)
    stranger = visitor.context()
    locked = visitor.page(stranger)
    locked.goto(wanted)
    visitor.settled(locked)
    locked.evaluate(visitor.axe)
    plain = visitor.page(visitor.context(java_script_enabled=False))
    plain.goto(wanted)
    return {
        "address": page.url,
        "tab": tab,
        "after_reload": other_tab.locator("main h1").inner_text(),
        "locked": locked.locator("main").inner_text(),
        "locked_violations": locked.evaluate(AXE_RUN),
        "without_script": plain.locator("noscript").inner_text(),
        "cookies": context.cookies() + stranger.cookies(),
    }


def visit_empty(visitor: Visitor) -> dict[str, Any]:
    """A store without sessions."""
    page = visitor.unlocked(visitor.context(320))
    page.evaluate(visitor.axe)
    return {"text": page.locator("main").inner_text(), "violations": page.evaluate(AXE_RUN)}


def visit_texts(visitor: Visitor) -> dict[str, Any]:
    """Every text of every page, opened as an address, but for times, ids, code, notes and fields."""
    page = visitor.unlocked(visitor.context())
    texts = {}
    for path in visitor.plan["paths"]:
        visitor.go(page, path)
        texts[path] = page.evaluate(TEXTS)
    return {"texts": texts}


def visit_nodes(visitor: Visitor) -> dict[str, Any]:
    """Every node by its address, each in a page that is loaded anew."""
    page = visitor.unlocked(visitor.context())
    opened = {}
    for path in visitor.plan["nodes"]:
        visitor.go(page, path)
        opened[path] = [
            page.locator("main h1").inner_text(),
            page.locator("main .page").get_attribute("data-node"),
        ]
    return {"opened": opened}


def visit_as_a_person(visitor: Visitor) -> dict[str, Any]:
    """By keyboard alone: find the blocked run, read why, confirm, watch, compare, take the report."""
    context = visitor.context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visitor.unlocked(context)
    keys = page.keyboard
    found: dict[str, Any] = {}
    keys.press("?")
    found["help"] = page.locator("dialog[open]").inner_text()
    keys.press("Escape")
    page.locator("dialog[open]").wait_for(state="hidden")
    keys.press("g")
    keys.press("w")
    page.locator("h1", has_text="Workflows").wait_for()
    keys.press("g")
    keys.press("s")
    page.locator("#sessions").wait_for()
    keys.press("/")
    found["search"] = page.evaluate("() => document.activeElement.name")
    keys.type(visitor.plan["blocked_goal"])
    keys.press("Enter")
    page.locator("main:not([aria-busy]) .toolbar a", has_text="Clear").wait_for()
    keys.press("j")
    keys.press("Enter")
    page.locator("#rail").wait_for()
    found["run"] = page.locator("h1").inner_text()
    visitor.press(page, "#waiting .need h2 a")
    page.locator(".notice.bad", has_text="Why this report").wait_for()
    found["why"] = page.locator(".notice.bad").inner_text()
    keys.press("p")
    page.locator(".toast").wait_for()
    found["resume"] = page.evaluate("() => navigator.clipboard.readText()")
    keys.press("g")
    keys.press("i")
    page.locator("[data-follow]").wait_for()
    found |= _confirm(visitor, page)
    found |= _compare(visitor, page)
    found |= _take_report(visitor, page)
    return found


def _confirm(visitor: Visitor, page: Page) -> dict[str, Any]:
    session = visitor.plan["session"]
    card = f".need[data-key*='{session}']"
    visitor.press(page, f"[data-follow] a[href*='{session}']")
    page.locator(card).wait_for()
    question, title = page.locator(card).inner_text(), page.title()
    visitor.press(page, f"{card} button[value=yes]")
    page.locator(".toast", has_text="Recorded").wait_for()
    visitor.follow(page, "/sessions")
    visitor.press(page, f"#sessions a[href*='{session}/runs/']")
    page.locator("#rail").wait_for()
    page.locator("#link.live").wait_for()
    loads: list[str] = []
    page.on("load", lambda _: loads.append(page.url))
    _meet("confirmed")
    page.locator("#now", has_text=visitor.plan["next_step"]).wait_for()
    return {"question": question, "title": title, "moved": page.locator("#now").inner_text(), "loads": loads}


def _compare(visitor: Visitor, page: Page) -> dict[str, Any]:
    keys = page.keyboard
    keys.press("]")
    keys.press("]")
    keys.press("j")
    marked = page.evaluate("() => document.activeElement.dataset.node")
    keys.press("c")
    page.locator(".toast", has_text="Marked").wait_for()
    for _ in range(3):
        keys.press("j")
    other = page.evaluate("() => document.activeElement.dataset.node || document.activeElement.dataset.at")
    keys.press("c")
    page.locator(".sides").first.wait_for()
    return {
        "pair": [marked, other],
        "compare_address": page.url,
        "compared": page.locator("main").inner_text(),
    }


def _take_report(visitor: Visitor, page: Page) -> dict[str, Any]:
    visitor.press(page, ".crumbs a[href^='/sessions/']")
    page.locator("#rail").wait_for()
    page.evaluate(OPEN_ALL)
    drawn = page.locator("#run svg.rail text").all_text_contents()
    visitor.press(page, ".tabs a[href$='/export']")
    page.locator("button[data-download$='.html']").wait_for()
    with page.expect_download() as waiting:
        visitor.press(page, "button[data-download$='.html']")
    target = visitor.plan["report"]
    waiting.value.save_as(target)
    offline = visitor.context()
    offline.set_offline(True)
    report = visitor.page(offline)
    report.goto(f"file://{target}")
    return {
        "drawn": drawn,
        "report_text": report.locator("body").inner_text(),
        "report_scripts": report.evaluate("() => document.scripts.length"),
        "report_requests": [one for one in visitor.addresses if one.startswith("file:")],
    }


def visit_live(visitor: Visitor) -> dict[str, Any]:
    """While somebody reads, steps are added: nothing moves, a button counts them, no page is loaded again."""
    page = visitor.unlocked(visitor.context(), visitor.plan["long"])
    page.locator("#link.live").wait_for()
    loads: list[str] = []
    page.on("load", lambda _: loads.append(page.url))
    where = "() => [scrollY, document.activeElement.dataset.node]"
    page.evaluate(OPEN_ALL)
    page.evaluate("() => { scrollTo(0, 600); }")
    page.locator(".rail a.spot").nth(25).focus()
    before = page.evaluate(where)
    _meet("reading")
    page.locator("#pill", has_text=f"{visitor.plan['appended']} new steps").wait_for()
    after = page.evaluate(where)
    said = page.locator("#said").inner_text()
    page.keyboard.press("n")
    page.locator("#pill").wait_for(state="hidden")
    return {
        "before": before,
        "after": after,
        "said": said,
        "loads": loads,
        "shown": page.locator(".rail a.spot[data-node]").count(),
        "focused": page.evaluate("() => document.activeElement.dataset.node"),
    }


def visit_restarted(visitor: Visitor) -> dict[str, Any]:
    """The server goes and comes back, first with its key, then with another one."""
    context = visitor.context()
    page = visitor.unlocked(context, visitor.plan["long"])
    page.locator("#link.live").wait_for()
    _meet("reading")
    page.locator("#link.gone").wait_for()
    found = {"gone": page.locator("h1").inner_text(), "gone_said": page.locator("#said").inner_text()}
    _meet("gone")
    page.locator("#link.live").wait_for()
    found["back"] = page.locator("h1").inner_text()
    _meet("back")
    page.locator("#link", has_text="locked").wait_for()
    found["locked"] = page.locator("h1").inner_text()
    visitor.plan["token"] = _meet("locked")
    visitor.unlocked(context)
    page.locator("#link.live").wait_for()
    found["again"] = page.locator("h1").inner_text()
    return found


def visit_import(visitor: Visitor) -> dict[str, Any]:
    """Bundles that are no good, then one that is, which is looked at and left, and then taken."""
    page = visitor.unlocked(visitor.context(), "/import")
    told = {}
    for name in visitor.plan["refused"]:
        told[name] = _drop(page, name)
        page.keyboard.press("Escape")
    preview = _drop(page, visitor.plan["good"])
    page.keyboard.press("Escape")
    _meet("looked")
    _drop(page, visitor.plan["good"])
    page.locator("dialog[open] button.main").click()
    page.locator("#rail").wait_for()
    return {"told": told, "preview": preview, "imported": page.locator(".meta").first.inner_text()}


def _drop(page: Page, file: str) -> str:
    page.locator("input[type=file]").set_input_files(file)
    page.locator("form button[type=submit]").click()
    page.locator("dialog[open]").wait_for()
    told: str = page.locator("dialog[open]").inner_text()
    return told


def visit_team(visitor: Visitor) -> dict[str, Any]:
    """Two people join by invitation; one makes a token for an agent, the other confirms what it did."""
    visitor.violations, visitor.wider = [], []
    ana, ben = (visitor.page(visitor.context()) for _ in range(2))
    found: dict[str, Any] = {"joining": _join(visitor, ana, visitor.plan["invitation"], "Ana")}
    _look_at(visitor, ana, "nothing yet")
    ana.locator("#team").click()
    ana.locator("#members").wait_for()
    found["bearer"] = _fill_in(ana, "team.new_token", name="builder", machine="laptop-7")
    link = _fill_in(ana, "team.invite", name="Ben")
    _look_at(visitor, ana, "team")
    _join(visitor, ben, link, "Ben")
    _tell({"at": found["bearer"]})
    sys.stdin.readline()
    for name, page in (("ana", ana), ("ben", ben)):
        visitor.follow(page, "/sessions")
        _look_at(visitor, page, f"sessions of {name}")
        visitor.follow(page, "/inbox")
        _look_at(visitor, page, f"inbox of {name}")
        found[f"{name}_needs"] = [page.title(), page.locator("main").inner_text()]
    ben.locator(".need button[value=yes]").click()
    ben.locator(".toast", has_text="Recorded").wait_for()
    visitor.follow(ben, "/sessions")
    ben.locator("#sessions a[href*='/runs/']").first.click()
    ben.locator("#rail").wait_for()
    _look_at(visitor, ben, "run")
    found["run"] = ben.locator("main").inner_text()
    return found | _leave_and_return(visitor, ana, ben)


def _join(visitor: Visitor, page: Page, link: str, name: str) -> str:
    """Too short a passphrase first, then a good one; what the first one was answered."""
    page.goto(link)
    visitor.settled(page)
    _look_at(visitor, page, f"join as {name}")
    page.locator("input[name=name]").fill(name)
    page.locator("input[name=passphrase]").fill("short")
    page.locator("button[type=submit]").click()
    trouble = page.locator("main form [role=status]:not(:empty)")
    trouble.wait_for()
    told: str = trouble.inner_text()
    page.locator("input[name=passphrase]").fill(visitor.plan["passphrase"])
    page.keyboard.press("Enter")
    page.locator("#link.live").wait_for()
    visitor.settled(page)
    return told


def _fill_in(page: Page, operation: str, **given: str) -> str:
    """Fill in a form of the page of the team, confirm what it shows, and take what is told once."""
    form = page.locator(f"form[data-operation='{operation}']")
    for name, value in given.items():
        form.locator(f"[name={name}]").fill(value)
    form.locator("button[type=submit]").click()
    page.locator("dialog[open] button.main").click()
    told = form.locator("pre:not(:empty)")
    told.wait_for()
    secret: str = told.inner_text()
    return secret


def _leave_and_return(visitor: Visitor, ana: Page, ben: Page) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, page in (("ana", ana), ("ben", ben)):
        visitor.follow(page, "/team")
        page.locator("#members").wait_for()
        _look_at(visitor, page, f"team of {name}")
        found[f"{name}_team"] = page.locator("main").inner_text()
    ana.locator("[data-leave]").click()
    ana.locator("h1", has_text="Sign in").wait_for()
    found["stored"] = ana.evaluate("() => [localStorage.length, Object.keys(sessionStorage)]")
    ana.locator("input[name=name]").fill("ana")
    ana.locator("input[name=passphrase]").fill("three wrong words")
    ana.keyboard.press("Enter")
    trouble = ana.locator("main form [role=status]:not(:empty)")
    trouble.wait_for()
    found["wrong"] = trouble.inner_text()
    _look_at(visitor, ana, "sign in")
    ana.locator("input[name=passphrase]").fill(visitor.plan["passphrase"])
    ana.keyboard.press("Enter")
    ana.locator("#link.live").wait_for()
    found["back"] = ana.locator("h1").inner_text()
    found["cookies"] = [one for context in visitor.contexts for one in context.cookies()]
    return {**found, "violations": visitor.violations, "wider": visitor.wider}


def _look_at(visitor: Visitor, page: Page, name: str) -> None:
    """axe, sideways scrolling and a picture, wide and narrow."""
    page.evaluate(visitor.axe)
    page.evaluate(OPEN_ALL)
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        visitor.violations += [f"{name} {width}: {one}" for one in page.evaluate(AXE_RUN)]
        if page.evaluate(WIDER):
            visitor.wider.append(f"{name} {width}: {page.evaluate(WIDER)} px")
        page.screenshot(path=f"{visitor.plan['pictures']}/{name} {width}.png", full_page=True)


VISITS: dict[str, Callable[[Visitor], dict[str, Any]]] = {
    "every_page": visit_every_page,
    "from_outside": visit_from_outside,
    "empty": visit_empty,
    "texts": visit_texts,
    "nodes": visit_nodes,
    "as_a_person": visit_as_a_person,
    "supervise": lambda visitor: supervise(visitor, AXE_RUN, WIDER, _meet),
    "live": visit_live,
    "restarted": visit_restarted,
    "import": visit_import,
    "team": visit_team,
    "approve": approve,
    "read_again": read_again,
    "set_roots": set_roots,
}


def _tell(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


def _meet(where: str) -> str:
    """Say where the visit is, and go on when the test says so."""
    _tell({"at": where})
    line = sys.stdin.readline()
    assert line, "the test has ended"
    said: str = json.loads(line)
    return said


@contextmanager
def _visit(visitor: Visitor, plan: dict[str, Any]) -> Iterator[None]:
    visitor.begin(plan)
    try:
        yield
    except (Error, AssertionError, LookupError):  # the test tells it
        _tell({"trouble": traceback.format_exc()[-3_000:], "complaints": visitor.complaints})
    finally:
        visitor.end()


def main() -> None:
    chromium, axe = sys.argv[1:]
    with open(axe, encoding="utf-8") as file:
        source = file.read()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        visitor = Visitor(browser, source)
        for line in iter(sys.stdin.readline, ""):
            plan = json.loads(line)
            with _visit(visitor, plan):
                found = VISITS[plan["visit"]](visitor)
                _tell({**found, "complaints": visitor.complaints, "addresses": sorted(visitor.addresses)})
        browser.close()


if __name__ == "__main__":
    main()
