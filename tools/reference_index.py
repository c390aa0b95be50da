"""The list of the reference pages: the title of each, with the sentence that it begins with."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from tools import page_parts

REFERENCE_INDEX = "docs/reference/index.md"
_BEGINNING = re.compile(r"^# (?P<title>.+)\n+(?P<sentence>.+)$", re.MULTILINE)


def reference_index(files: Mapping[str, str]) -> str:
    """Every page among these files that stands beside the list."""
    folder = os.path.dirname(REFERENCE_INDEX)
    rows = []
    for path in sorted(files):
        beginning = _BEGINNING.search(files[path])
        if os.path.dirname(path) == folder and beginning:
            rows.append([f"[{beginning['title']}]({os.path.basename(path)})", beginning["sentence"]])
    intro = "Every reference page.\nAll of them are generated from the code, so they cannot contradict it."
    return page_parts.page("# Reference", intro, page_parts.table(["page", "what it lists"], rows))
