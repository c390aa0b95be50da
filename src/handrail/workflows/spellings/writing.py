"""A document as YAML or as Markdown, each in its one canonical layout, with its comments. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import dumps

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.workflows.problem import is_within
from handrail.workflows.spellings.decoded import Comment
from handrail.workflows.spellings.markdown import decode_markdown
from handrail.workflows.spellings.markdown_text import BLOCKS, split_title, write_block
from handrail.workflows.spellings.strict_yaml import read_plain

Comments = dict[str, Comment]

_INDENT = "  "
_FLOW_WIDTH = 88
_LONGEST_KEY = 100
_NO_COMMENT = Comment()
_ODD = r"\x00-\x08\x0b-\x1f\x7f-\xa0\u2028\u2029\ud800-\uffff"
"""Characters that are written as escapes."""
_PLAIN = re.compile(rf"(?![{_ODD}])[A-Za-z0-9_/.(\u00a1-\ud7ff](?:[^\t\n{_ODD}]*[^\t\n :{_ODD}])?")
_NOT_PLAIN = re.compile(r": |:\Z| #|\A(?:---|\.\.\.)(?:\s|\Z)")
_OTHERWISE_ELSEWHERE = re.compile(r"(?i:y|n|yes|no|on|off)|[0-9]{4}-[0-9].*")
"""Words that older YAML takes for truth values or dates; quoted, they are texts to every reader."""
_NOT_IN_FLOW = re.compile(r"[,\[\]{}:]")
_LITERAL = re.compile(rf"[^ \t\n{_ODD}][^{_ODD}]*")
_UNSAFE = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")


def write_yaml(document: dict[str, Json], comments: Comments) -> str:
    """Return the YAML text of a document; the same document and comments give the same text."""
    lines = [*_members(document, "", "", comments), *_remarks(comments.get("", _NO_COMMENT), "")]
    return "".join(f"{line}\n" for line in lines)


def _members(value: dict[str, Json], pointer: str, indent: str, comments: Comments) -> Iterator[str]:
    for key, inner in value.items():
        at = join_pointer(pointer, key)
        comment = comments.get(at, _NO_COMMENT)
        yield from (f"{indent}#{words}" for words in comment.before)
        written = _scalar(key, is_flow=True, is_key=True)
        head = f"{indent}{written}:" if len(written) <= _LONGEST_KEY else f"{indent}? {written}\n{indent}:"
        yield from _value(head, inner, at, indent, comments)


def _items(value: list[Json], pointer: str, indent: str, comments: Comments) -> Iterator[str]:
    for place, inner in enumerate(value):
        at = f"{pointer}/{place}"
        comment = comments.get(at, _NO_COMMENT)
        if isinstance(inner, (dict, list)) and inner and not _flow(inner, at, comments):
            yield from _remarks(comment, indent)
            deeper = indent + _INDENT
            below = (
                _members(inner, at, deeper, comments)
                if isinstance(inner, dict)
                else _items(inner, at, deeper, comments)
            )
            lines = [line for text in below for line in text.split("\n")]
            first = next(number for number, line in enumerate(lines) if not line.startswith(f"{deeper}#"))
            yield from (indent + line[len(deeper) :] for line in lines[:first])
            yield f"{indent}- {lines[first][len(deeper) :]}"
            yield from lines[first + 1 :]
        else:
            yield from (f"{indent}#{words}" for words in comment.before)
            yield from _value(f"{indent}-", inner, at, indent, comments)


def _value(head: str, value: Json, pointer: str, indent: str, comments: Comments) -> Iterator[str]:
    """Return a value as it follows its key or its dash."""
    comment = comments.get(pointer, _NO_COMMENT)
    beside = f"  #{comment.beside}" if comment.beside else ""
    match value:
        case dict() if value:
            yield f"{head}{beside}"
            yield from _members(value, pointer, indent + _INDENT, comments)
        case list() if value:
            flow = _flow(value, pointer, comments)
            if flow and len(head) + len(flow) < _FLOW_WIDTH:
                yield f"{head} {flow}{beside}"
            else:
                yield f"{head}{beside}"
                yield from _items(value, pointer, indent + _INDENT, comments)
        case str() if "\n" in value and _LITERAL.fullmatch(value):
            body = value.rstrip("\n")
            ends = len(value) - len(body)
            yield f"{head} |{'-' if ends == 0 else '+' if ends > 1 else ''}{beside}"
            lines = [*body.split("\n"), *[""] * (ends - 1)]
            yield from (f"{indent}{_INDENT}{line}" if line else "" for line in lines)
        case _:
            yield f"{head} {_scalar(value)}{beside}"


def _flow(value: Json, pointer: str, comments: Comments) -> str:
    """Return a short list of plain values on one line; empty if the value is no such list."""
    if not isinstance(value, list) or any(isinstance(one, (dict, list)) for one in value):
        return ""
    if any(f"{pointer}/{place}" in comments for place in range(len(value))):
        return ""
    return f"[{', '.join(_scalar(one, is_flow=True) for one in value)}]"


def write_flow(value: Json) -> str:
    """A value on one line, as a fix shows it."""
    if isinstance(value, dict):
        inner = (
            f"{_scalar(name, is_flow=True, is_key=True)}: {write_flow(one)}" for name, one in value.items()
        )
        return f"{{{', '.join(inner)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(write_flow, value))}]"
    return _scalar(value, is_flow=True)


def _scalar(value: Json, *, is_flow: bool = False, is_key: bool = False) -> str:
    if isinstance(value, str):
        return value if _is_plain(value, is_flow, is_key) else _quote(value)
    if isinstance(value, dict):
        return "{}"
    return "[]" if isinstance(value, list) else dumps(value)


def _is_plain(text: str, is_flow: bool, is_key: bool) -> bool:
    if _PLAIN.fullmatch(text) is None or _NOT_PLAIN.search(text) or (is_flow and _NOT_IN_FLOW.search(text)):
        return False
    if _OTHERWISE_ELSEWHERE.fullmatch(text):
        return False
    try:
        return is_key or read_plain(text) == text
    except ValueError:
        return False


def _quote(text: str) -> str:
    """A double-quoted text; what YAML parsers may take for something else is escaped."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", dumps(text, ensure_ascii=False))


def _remarks(comment: Comment, indent: str) -> Iterator[str]:
    yield from (f"{indent}#{words}" for words in comment.before)
    if comment.beside:
        yield f"{indent}#{comment.beside}"


_HEADINGS = {key: title for title, key in BLOCKS.items()}
_LINK = re.compile(r" \[([^\[\]\r\n]+)\]")
_PLAIN_ID = re.compile(r"[^{}\s]+")


def write_markdown(document: dict[str, Json], comments: Comments) -> str:
    """Return the Markdown text of a workflow; the same document and comments give the same text."""
    front = {key: value for key, value in document.items() if key != "steps"}
    kept = {pointer: one for pointer, one in comments.items() if not is_within(pointer, "/steps")}
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
    blocks = f"{pointer}/promptBlocks"
    links = {
        at: words for at in _refs(part.get("promptBlocks")) if (words := _link(comments.get(blocks + at)))
    }
    prose = _prose(fence, level, links)
    if "promptBlocks" not in fence:  # else they are comments there
        comments = {at: one for at, one in comments.items() if at.removeprefix(blocks) not in links}
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


def _refs(blocks: Json) -> Iterator[str]:
    """Where the blocks of a prompt have refs."""
    for key, value in blocks.items() if isinstance(blocks, dict) else ():
        inner = (
            value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
        )
        places = {join_pointer("", key): value} | {
            join_pointer(join_pointer("", key), name): one for name, one in inner.items()
        }
        yield from (at for at, one in places.items() if isinstance(one, dict) and "refId" in one)


def _link(comment: Comment | None) -> str:
    """The author's words of a link, which are a comment in other spellings; empty where there are none."""
    is_alone = comment is not None and len(comment.before) == 1 and not comment.beside
    found = _LINK.fullmatch(comment.before[0]) if comment is not None and is_alone else None
    return found[1] if found else ""


def _prose(fence: dict[str, Json], level: int, links: dict[str, str]) -> list[str]:
    """The text below the heading; what it says is taken out of the fence."""
    if isinstance(fence.get("prompt"), str):
        text = str(fence.pop("prompt"))
        plain = text.split("\n")
        return ["", *(plain if _reads_back(plain, "prompt", text) else _fenced(text))]
    blocks = fence.get("promptBlocks")
    if not isinstance(blocks, dict) or not any(key in blocks for key in _HEADINGS):
        return []
    lines: list[str] = []
    for key, value in sorted(blocks.items(), key=lambda block: block[0] != "goal"):
        at = join_pointer("", key)
        own = {place[len(at) :]: words for place, words in links.items() if is_within(place, at)}
        written = write_block(key, value, own)
        if key != "goal" and key not in _HEADINGS:
            return []
        if not _reads_back(written, key, value):
            if not isinstance(value, str) or key == "outputRequired":
                return []
            written = _fenced(value)
        if key != "goal":
            lines += ["", f"{'#' * (level + 1)} {_HEADINGS[key]}"]
        lines += ["", *written]
    del fence["promptBlocks"]
    return lines


def _reads_back(lines: list[str], key: str, value: Json) -> bool:
    """Whether plain lines give back the value of a step, or of a block of its prompt."""
    heading = [] if key in ("prompt", "goal") else [f"### {_HEADINGS[key]}"]
    after = ["### Verify", "", "- It holds."] if key == "goal" else []
    page = ["---", "id: a.b", "---", "## T {#t}", "", *heading, "", *lines, "", *after]
    document = decode_markdown("\n".join(page)).document
    step = document["steps"][0] if document else {}
    return bool(step.get(key, step.get("promptBlocks", {}).get(key)) == value)


def _fenced(text: str) -> list[str]:
    mark = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return [f"{mark}prompt", *(text.split("\n") if text else ()), mark]


def _step_fence(fence: dict[str, Json], pointer: str, comments: Comments) -> Iterator[str]:
    """What is no prose. Comments that have no other place in Markdown stand at its top."""
    own = {at[len(pointer) :]: one for at, one in comments.items() if is_within(at, pointer)}
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
