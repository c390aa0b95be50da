"""How a person approves a long text and adds a root in the Console, for `browser.py`."""

from __future__ import annotations

from typing import Any

_SCROLL = "(text) => text.scrollTo(0, text.scrollHeight)"
_YES = "button[value=yes]"


def approve(visitor: Any) -> dict[str, Any]:
    """By keyboard alone: the yes opens at the end of the text and not before; the note sends nothing."""
    page = visitor.unlocked(visitor.context(), visitor.plan["node"])
    form = page.locator("form[data-operation='run.answer']")
    found: dict[str, Any] = {"before": form.locator(_YES).is_disabled(), "violations": []}
    found["no_before"] = form.locator("button[value=no]").is_disabled()
    page.evaluate(visitor.axe)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    form.locator("[name=note]").press("Enter")
    visitor.tab_back_to(page, "[data-whole]")
    page.keyboard.press("PageDown")
    page.wait_for_function("() => document.querySelector('[data-whole]').scrollTop > 0")
    found["half_way"] = form.locator(_YES).is_disabled()
    found["sent_early"] = [one for one in asked if "run.answer" in one]
    page.keyboard.press("End")
    form.locator(f"{_YES}:enabled").wait_for()
    found["hint"] = form.locator("[data-unread]").is_visible()
    visitor.press(page, _YES)
    page.locator(".toast", has_text="Recorded").wait_for()
    return found


def read_again(visitor: Any) -> dict[str, Any]:
    """What was read stays open when the page is fetched again; another text is closed."""
    page = visitor.unlocked(visitor.context(), visitor.plan["node"])
    page.locator("[data-whole]").evaluate(_SCROLL)
    page.locator(f"{_YES}:enabled").wait_for()
    visitor.follow(page, "/gaps")
    visitor.follow(page, visitor.plan["node"])
    same = page.locator(_YES).is_disabled()
    visitor.follow(page, visitor.plan["other"])
    return {"same": same, "other": page.locator(_YES).is_disabled()}


def set_roots(visitor: Any) -> dict[str, Any]:
    """Add two folders, then take the first one back; each change is shown before."""
    page = visitor.unlocked(visitor.context(), "/settings")
    found: dict[str, Any] = {"shown": []}
    for folder in visitor.plan["folders"]:
        page.locator("#roots input[name=value]").fill(folder)
        page.locator("#roots form button").click()
        _agree(page, found)
        page.locator("#roots li", has_text=folder).wait_for()
    page.locator(f"#roots button[aria-label='Remove {visitor.plan['folders'][0]}']").click()
    _agree(page, found)
    page.locator("#roots li", has_text=visitor.plan["folders"][0]).wait_for(state="detached")
    page.locator("#roots input[name=value]").fill("relative/folder")
    page.locator("#roots form button").click()
    page.locator("dialog[open]").wait_for()
    found["refused"] = page.locator("dialog[open]").inner_text()
    return found


def _agree(page: Any, found: dict[str, Any]) -> None:
    page.locator("dialog[open] button.main").wait_for()
    found["shown"].append(page.locator("dialog[open]").inner_text())
    page.locator("dialog[open] button.main").click()
    page.locator("dialog[open]").wait_for(state="hidden")
