"""`store.du`: sizes that add up to what lies on the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from handrail.runtime.hub import perform
from handrail.wiring import build_runtime


def used(home: str) -> Any:
    outcome: Any = perform(build_runtime({"HANDRAIL_HOME": home}), "store.du", {})
    return outcome.data


def bytes_below(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def test_the_sizes_are_those_of_the_files(home: str) -> None:
    runtime = build_runtime({"HANDRAIL_HOME": home})
    for request in ("one", "two"):
        perform(runtime, "run.start", {"workflowId": "wr.small_change", "requestId": request})
    data = Path(home, "data")

    sizes = used(home)

    assert sizes["session_count"] == 2
    assert sizes["session_bytes"] == bytes_below(data / "sessions")
    assert (sizes["blob_count"], sizes["blob_bytes"]) == (1, bytes_below(data / "blobs"))
    assert sizes["cache_bytes"] == bytes_below(data / "cache")
    assert sizes["total_bytes"] == sizes["session_bytes"] + sizes["blob_bytes"] + sizes["cache_bytes"]
    assert (sizes["leftover_blobs"], sizes["leftover_bytes"]) == (0, 0)
    assert [row["bytes"] for row in sizes["largest_sessions"]] == sorted(
        (bytes_below(path) for path in (data / "sessions").iterdir()), reverse=True
    )


def test_what_nobody_names_is_counted_as_leftover(home: str) -> None:
    runtime = build_runtime({"HANDRAIL_HOME": home})
    perform(runtime, "run.start", {"workflowId": "wr.small_change", "requestId": "one"})
    data = Path(home, "data")
    (data / "blobs" / "ff").mkdir()
    (data / "blobs" / "ff" / ("f" * 64)).write_bytes(b"12345")
    (data / "sessions" / "ses_000000000001.removed").mkdir()
    (data / "sessions" / "ses_000000000001.removed" / "lock").write_bytes(b"123")
    (data / "cache").mkdir(exist_ok=True)
    (data / "cache" / "ses_000000000001").write_bytes(b"1234567")
    cached = bytes_below(data / "cache")

    sizes = used(home)

    assert (sizes["leftover_blobs"], sizes["leftover_bytes"]) == (1, 8)
    assert (sizes["session_count"], sizes["cache_bytes"]) == (1, cached)


def test_an_empty_home_takes_nothing(home: str) -> None:
    assert used(home)["total_bytes"] == 0
