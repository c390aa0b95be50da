"""How a person supervises five agents in the Console, for `browser.py`, which hands over what it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

ROWS = "[data-follow]"
"""The list of the inbox."""


def supervise(visitor: Any, axe_run: str, wider: str, meet: Callable[[str], str]) -> dict[str, Any]:
    """By keyboard alone: find the stuck agent, answer each Ask, settle a gap, read what is proven."""
    plan = visitor.plan
    page = visitor.unlocked(visitor.context(plan["width"], color_scheme=plan["theme"]), "/inbox")
    page.evaluate(visitor.axe)
    found: dict[str, Any] = {"scripts": (axe_run, wider), "violations": [], "wider": 0, "title": page.title()}
    _look(visitor, page, found, "1-waiting")
    found["summary"] = page.locator("#summary").inner_text()
    bottom = "(wanted) => document.querySelector(wanted).getBoundingClientRect().bottom"
    found["lowest"] = page.evaluate(bottom, f"{ROWS} > li:last-child")
    found["rows"] = page.locator(f"{ROWS} > li").all_inner_texts()
    found["stuck"] = _open(visitor, page, "stuck")
    visitor.follow(page, "/sessions?status=blocked&group=state")
    found["grouped"] = page.locator("main section section").all_inner_texts()
    _look(visitor, page, found, "2-blocked")
    visitor.press(page, f".row-link[href*='{plan['sessions']['stuck']}']")
    page.locator("#rail").wait_for()
    found["stuck_page"] = page.locator("main").inner_text()
    _look(visitor, page, found, "3-stuck")
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.locator(ROWS).wait_for()
    found["proven"] = _open(visitor, page, "confirm")
    found |= _answer_all(visitor, page)
    _look(visitor, page, found, "4-answered")
    found["recorded"] = {name: _open(visitor, page, name) for name in plan["asks"]}
    visitor.follow(page, "/inbox")
    page.locator("#link.live").wait_for()
    meet("answered")
    for name in plan["asks"]:
        page.locator(_row(plan, name)).wait_for(state="detached")
    found["left"] = page.locator(f"{ROWS} > li").all_inner_texts()
    _look(visitor, page, found, "5-left")
    found["last_title"] = page.title()
    return found


def _row(plan: dict[str, Any], name: str) -> str:
    return f"{ROWS} a[href*='{plan['sessions'][name]}']"


def _open(visitor: Any, page: Page, name: str) -> str:
    """Open an item of the inbox, from its list where the screen shows one thing at a time."""
    if not page.locator(_row(visitor.plan, name)).is_visible():
        visitor.follow(page, "/inbox")
    visitor.press(page, _row(visitor.plan, name))
    need = page.locator(_need(visitor.plan, name))
    need.wait_for()
    return str(need.inner_text())


def _need(plan: dict[str, Any], name: str) -> str:
    return f".need[data-key*='{plan['sessions'][name]}']"


def _look(visitor: Any, page: Page, found: dict[str, Any], name: str) -> None:
    """axe, sideways scrolling, and a picture where the plan has a folder for it."""
    page.evaluate("() => scrollTo(0, 0)")  # the bar of the page covers what is scrolled below it
    found["violations"] += [f"{name}: {one}" for one in page.evaluate(found["scripts"][0])]
    found["wider"] = max(found["wider"], page.evaluate(found["scripts"][1]))
    if visitor.plan["pictures"]:
        page.screenshot(path=f"{visitor.plan['pictures']}/{name}.png", full_page=True)


def _answer_all(visitor: Any, page: Page) -> dict[str, Any]:
    """Each Ask from its card, the value first with a wrong one; then the gap."""
    plan, keys = visitor.plan, page.keyboard
    _open(visitor, page, "give")
    given = f"{_need(plan, 'give')} [name='given.answer']"
    visitor.tab_to(page, given)
    keys.type(plan["wrong"])
    keys.press("Enter")
    page.locator("dialog[open]").wait_for()
    refused = page.locator("dialog[open]").inner_text()
    keys.press("Escape")
    page.locator("dialog[open]").wait_for(state="hidden")
    kept = page.locator(given).input_value()
    has_focus = page.evaluate("(wanted) => document.activeElement.matches(wanted)", given)
    visitor.tab_to(page, given)
    keys.press("Control+a")
    keys.type("eu")
    keys.press("Enter")
    _recorded(page, _need(plan, "give"))
    for name, value in (("confirm", "yes"), ("choose", "trial"), ("write", "yes")):
        _open(visitor, page, name)
        if name == "confirm":
            keys.press("y")
        else:
            visitor.press(page, f"{_need(plan, name)} button[value={value}]")
        _recorded(page, _need(plan, name))
    _open(visitor, page, "gap")
    gap = _need(plan, "gap")
    visitor.tab_to(page, f"{gap} input[name=note]")
    keys.type("The queue has a setting for long reports; it is on.")
    keys.press("Enter")
    page.locator(gap).wait_for(state="detached")
    return {"refused": refused, "kept": kept, "has_focus": has_focus}


def _recorded(page: Page, card: str) -> None:
    page.locator(f"main:not([aria-busy]) {card}.answered").wait_for()
