"""Writes the golden bundle of this version; run once per release, never over an older file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from handrail import __version__  # noqa: E402 - the lines above make `tests` importable
from tests.conftest import memory_runtime  # noqa: E402 - as above
from tests.journeys.conversation import answer  # noqa: E402 - as above
from tests.journeys.rich_session import rich_session  # noqa: E402 - as above

BUNDLES = Path(__file__).resolve().parent / "bundles"


def main() -> None:
    runtime = memory_runtime()
    session_id = rich_session(runtime)["session"]["sessionId"]
    content = answer(runtime, "session.export", sessionId=session_id)["content"]
    with open(BUNDLES / f"{__version__}.json", "x", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(content, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
