"""A document as a Markdown workflow in the one canonical layout, with its comments. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from handrail.contract.outcome import Json
from handrail.workflows.spellings.decoded import Comment
from handrail.workflows.spellings.markdown_text import BLOCKS, split_title, write_block, write_text
from handrail.workflows.spellings.write_yaml import Comments, write_yaml

_PROSE = ("prompt", "promptBlocks")
_HEADINGS = {key: title for title, key in BLOCKS.items()}
_PLAIN_ID = re.compile(r"[^{}\s]+")


def write_markdown(document: dict[str, Json], comments: Comments) -> str:
    """The Markdown text of a workflow; the same document and comments, the same text."""
    front = {key: value for key, value in document.items() if key != "steps"}
    kept = {pointer: one for pointer, one in comments.items() if not _is_below("/steps", pointer)}
    ends = [comments[name] for name in ("/steps", "") if name in comments]
    if ends:
        kept[""] = Comment(before=tuple(words for one in ends for words in _all_words(one)))
    lines = ["---", *write_yaml(front, kept).split("\n")[:-1], "---"]
    for place, part in enumerate(document["steps"]):
        lines += _part(part, f"/steps/{place}", 2, comments)
    return "".join(f"{line}\n" for line in lines)


def _part(part: dict[str, Json], pointer: str, level: int, comments: Comments) -> Iterator[str]:
    fence = dict(part)
    yield from ("", _heading(fence, level))
    prose = _prose(fence, level)
    body = fence.get("body")
    has_body = isinstance(body, list) and bool(body) and all(isinstance(one, dict) for one in body)
    if has_body:
        del fence["body"]
    yield from _step_fence(fence, pointer, comments)
    yield from prose
    if has_body:
        for place, inner in enumerate(part["body"]):
            yield from _part(inner, f"{pointer}/body/{place}", level + 1, comments)


def _heading(fence: dict[str, Json], level: int) -> str:
    """The heading; what it says is taken out of the fence."""
    if "id" not in fence and isinstance(fence.get("loopId"), str):
        fence["id"] = fence.pop("loopId")
    part_id, title = fence.get("id"), fence.get("title")
    words = ""
    is_plain = isinstance(title, str) and title == title.strip() and "\n" not in title and "\r" not in title
    if is_plain and title and split_title(title) == (title, None):
        words = f" {fence.pop('title')}"
    if isinstance(part_id, str) and _PLAIN_ID.fullmatch(part_id):
        words += f" {{#{fence.pop('id')}}}"
    return "#" * level + words


def _prose(fence: dict[str, Json], level: int) -> list[str]:
    """The text below the heading; what it says is taken out of the fence."""
    if isinstance(fence.get("prompt"), str):
        return ["", *_prompt(fence.pop("prompt"))]
    blocks = fence.get("promptBlocks")
    if not isinstance(blocks, dict) or not any(key in blocks for key in _HEADINGS):
        return []
    lines: list[str] = []
    for key, value in sorted(blocks.items(), key=lambda block: block[0] != "goal"):
        written = write_block(key, value)
        if written is None and isinstance(value, str) and key != "outputRequired":
            written = _fenced(value)
        if written is None or (key != "goal" and key not in _HEADINGS):
            return []
        if key != "goal":
            lines += ["", f"{'#' * (level + 1)} {_HEADINGS[key]}"]
        lines += ["", *written]
    del fence["promptBlocks"]
    return lines


def _prompt(text: str) -> list[str]:
    return write_text(text) or _fenced(text)


def _fenced(text: str) -> list[str]:
    mark = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return [f"{mark}prompt", *(text.split("\n") if text else ()), mark]


def _step_fence(fence: dict[str, Json], pointer: str, comments: Comments) -> Iterator[str]:
    """What is no prose. Comments that have no other place in Markdown stand at its top."""
    own = {at[len(pointer) :]: one for at, one in comments.items() if _is_below(pointer, at)}
    inner = {at: one for at, one in own.items() if at.split("/")[1:2] and at.split("/")[1] in fence}
    others = [one for at, one in own.items() if at not in inner and not re.match(r"/body/[0-9]+(?:/|\Z)", at)]
    if not fence and not others:
        return
    words = [f"#{line}" for one in others for line in _all_words(one)]
    lines = [*words, *(write_yaml(fence, inner).split("\n")[:-1] if fence else ())]
    mark = "`" * max([3, *(len(run) + 1 for line in lines for run in re.findall("`+", line))])
    yield from ("", f"{mark}step", *lines, mark)


def _all_words(comment: Comment) -> tuple[str, ...]:
    return (*comment.before, *((comment.beside,) if comment.beside else ()))


def _is_below(holder: str, pointer: str) -> bool:
    return pointer == holder or pointer.startswith(f"{holder}/")
