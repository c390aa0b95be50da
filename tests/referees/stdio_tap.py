"""Stands between a client and `handrail mcp`, and keeps every line of both directions in a file.

Run as `python -m tests.referees.stdio_tap FILE`; the server is started with the same environment.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import IO


def relay(source: IO[bytes], target: IO[bytes], way: str, kept: IO[str], lock: threading.Lock) -> None:
    for line in iter(source.readline, b""):
        with lock:
            kept.write(json.dumps({"way": way, "line": line.decode("utf-8", "replace")}) + "\n")
            kept.flush()
        target.write(line)
        target.flush()
    target.close()


def main(path: str) -> int:
    lock = threading.Lock()
    command = [sys.executable, "-m", "handrail.main", "mcp"]
    with (
        open(path, "a", encoding="utf-8") as kept,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        asked = (sys.stdin.buffer, server.stdin, "sent", kept, lock)
        threading.Thread(target=relay, args=asked, daemon=True).start()
        relay(server.stdout, sys.stdout.buffer, "heard", kept, lock)
        status = server.wait()
        with lock:
            kept.write(json.dumps({"way": "ended", "line": str(status)}) + "\n")
        return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
