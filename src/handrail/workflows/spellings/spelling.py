"""The spellings of a workflow file: each is read into the same document, and written from it. Pure."""

from __future__ import annotations

from functools import lru_cache
from json import dumps
from typing import Literal, TypeAlias, assert_never

from handrail.contract.json.strict import decode_json, utf8_text
from handrail.contract.outcome import Fault, Json
from handrail.workflows.limits import MAX_JSON_DEPTH, MAX_SOURCE_BYTES, Spelling
from handrail.workflows.spellings.decoded import Comment, Decoded

_KEPT_TEXTS = 8
_Parsed: TypeAlias = Literal["yaml", "md"]


def decode_file(content: bytes, spelling: Spelling, decoded: bytes = b"") -> Decoded:
    """What a file holds; `decoded` is its document as JSON, where that is known already.

    Raises Fault E_VALIDATION or REQUEST_TOO_LARGE for what cannot be read.
    """
    if spelling == "json" or decoded:
        held = decode_json(decoded or content, max_bytes=MAX_SOURCE_BYTES, max_depth=MAX_JSON_DEPTH)
        return Decoded(document=held)
    return decode_spelled(content, spelling)


def decode_document(content: bytes, spelling: Spelling, decoded: bytes = b"") -> Json:
    """Return the document of a file; None if it cannot be read."""
    try:
        return decode_file(content, spelling, decoded).document
    except Fault:
        return None


def decode_spelled(content: bytes, spelling: _Parsed) -> Decoded:
    """The document with its places and comments.

    Raises Fault E_VALIDATION or REQUEST_TOO_LARGE for what is no text.
    """
    return _decode_text(utf8_text(content, MAX_SOURCE_BYTES), spelling)


@lru_cache(maxsize=_KEPT_TEXTS)
def _decode_text(text: str, spelling: _Parsed) -> Decoded:
    """Problems are placed by the tables that reading made, so a file is parsed once for all of them."""
    # The parser is slow to load, and most files are JSON.
    from handrail.workflows.spellings.markdown import decode_markdown  # noqa: PLC0415 - see above
    from handrail.workflows.spellings.strict_yaml import decode_yaml  # noqa: PLC0415 - see above

    match spelling:
        case "yaml":
            return decode_yaml(text)
        case "md":
            return decode_markdown(text)
        case never:
            assert_never(never)


def write_flow(value: Json) -> str:
    """Return a value on one line of YAML."""
    from handrail.workflows.spellings import writing  # noqa: PLC0415 - as above

    return writing.write_flow(value)


def write_document(document: dict[str, Json], spelling: Spelling, comments: dict[str, Comment]) -> str:
    """Return the text of a workflow document in the canonical layout of a spelling; JSON has no comments."""
    from handrail.workflows.spellings import writing  # noqa: PLC0415 - as above

    match spelling:
        case "json":
            return dumps(document, ensure_ascii=False, indent=2) + "\n"
        case "yaml":
            return writing.write_yaml(document, comments)
        case "md":
            return writing.write_markdown(document, comments)
        case never:
            assert_never(never)
