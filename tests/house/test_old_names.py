"""What a command was called before the first release stands in no text that a reader can meet."""

from __future__ import annotations

import re
from pathlib import Path

from handrail.surfaces.cli.reading.other_words import OTHER_WORDS

ROOT = Path(__file__).resolve().parents[2]
OLD = (
    r"\b(handrail (scan|edit|tools)|run (graph|node|compare)|preferences (show|set)"
    r"|session (timeline|search|gaps|start))\b(?! \{)"
)
PLACES = ("README.md", "CHANGELOG.md", "docs", "skills", "src", "tools", "bench")
KEEPS = ("docs/decisions/", "src/handrail/surfaces/cli/reading/other_words.py", "_table.py", "drawing")
"""What was decided once stays as it was written; the parser knows the old names to refuse them."""


def old_names(text: str) -> list[str]:
    return [found[0] for found in re.finditer(OLD, text)]


def test_no_text_has_a_name_that_is_refused() -> None:
    files = [path for place in PLACES for path in _files(ROOT / place)]
    found = {
        str(path.relative_to(ROOT)): names
        for path in files
        if not any(kept in str(path) for kept in KEEPS)
        if (names := old_names(path.read_text(encoding="utf-8")))
    }

    assert len(files) > 500
    assert found == {}


def test_each_old_name_is_found_where_it_stands_and_refused_by_the_parser() -> None:
    for name in ("run graph", "session gaps", "preferences set", "session start"):
        assert old_names(f"Try `handrail {name} X`.") == [name]
        assert name in OTHER_WORDS


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    kinds = (".md", ".py", ".json", ".js", ".html", ".sh")
    return sorted(path for path in place.rglob("*") if path.suffix in kinds and path.is_file())
