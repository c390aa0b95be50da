"""The report as one HTML page: opens from the disk, runs nothing, fetches nothing. Pure.

It is the Markdown report, laid out: what one of them tells, the other tells in the same words.
"""

from __future__ import annotations

import base64
import hashlib

from handrail.contract.effort import Effort
from handrail.contract.wording import mark_hidden
from handrail.projections.html.elements import (
    Html,
    count_markup,
    document,
    element,
    is_laid_out,
    report_html,
    style_sheet,
)
from handrail.projections.report.markdown import fence_lines, markdown_report, quote_lines
from handrail.projections.report.phrases import title_of
from handrail.projections.report.story import Story

# The style sheet: light and dark by system, from 320 pixels to paper. Quoted is what an agent wrote.

CSS = """
:root{color-scheme:light dark;--paper:#fbfaf7;--card:#fff;--ink:#1f2328;--soft:#5b626b;--line:#d9d6cf;
--rail:#2f6f5e;--link:#1f5fa8}
@media(prefers-color-scheme:dark){:root{--paper:#15181b;--card:#1d2125;--ink:#e7e9ea;--soft:#a3abb3;
--line:#343a40;--rail:#6fc3aa;--link:#8fbcf2}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif;
overflow-wrap:anywhere}
main{max-width:54rem;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .5rem;text-wrap:balance}
h2{font-size:1.3rem;margin:2.5rem 0 .25rem;border-top:1px solid var(--line);padding-top:1.5rem}
h3{font-size:1.05rem;margin:1.75rem 0 .5rem;color:var(--rail)}
h4{font-size:1rem;margin:1.5rem 0 0;padding-left:.8rem;border-left:.3rem solid var(--rail)}
h6{font-size:1em;margin:.4rem 0}
p,ul,ol{margin:.4rem 0}ul,ol{padding-left:1.3rem}a{color:var(--link)}
a:focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:.2rem}
blockquote{margin:.5rem 0;padding:.5rem .9rem;border-left:3px solid var(--line);background:var(--card);
unicode-bidi:plaintext}
pre,code{font-family:ui-monospace,monospace;font-size:.85em}
pre{background:var(--card);border:1px solid var(--line);border-radius:.4rem;padding:.7rem;overflow-x:auto;
white-space:pre-wrap}
table{border-collapse:collapse;display:block;overflow-x:auto;font-size:.9rem}
td,th{border:1px solid var(--line);padding:.25rem .6rem;text-align:left;vertical-align:top}
hr{border:0;border-top:1px solid var(--line);margin:3rem 0 1rem}
@media(max-width:30rem){main{padding:1.25rem .8rem 3rem}h1{font-size:1.4rem}}
@media print{body{background:#fff;color:#000}h4{break-after:avoid}}
"""


MOST_MARKUP_ON_PAGE = 400_000
"""What laying out the notes of a page may cost, in marks; the others are shown as plain text."""


def report_page(story: Story, *, exported_at: str, producer: str) -> str:
    """The whole page."""
    room = Effort(MOST_MARKUP_ON_PAGE, "", "")

    def quote(notes: str) -> list[str]:
        is_shown = is_laid_out(notes) and room.affords(count_markup(notes))
        return quote_lines(notes if is_shown else "\n".join(fence_lines(mark_hidden(notes).split("\n"))))

    told = markdown_report(story, exported_at=exported_at, producer=producer, quote=quote)
    body = element("body", element("main", report_html(told)))
    return document(element("html", _head(story), body, lang="en"))


def _head(story: Story) -> Html:
    digest = base64.b64encode(hashlib.sha256(CSS.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{title_of(story)} · Handrail"),
        style_sheet(CSS),
    )
