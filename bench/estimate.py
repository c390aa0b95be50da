"""How long the token estimate takes beside `json.dumps` of the same value, for about 100 KB each.

Run: python bench/estimate.py
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.contract.outcome import Json

REPEATS = 15

VALUES: dict[str, Json] = {
    "a list of sessions": [
        {"id": f"ses_{i:04d}", "status": "in_progress", "title": f"Look at part {i}", "runs": ["run_1", i]}
        for i in range(1000)
    ],
    "small numbers": [1] * 33_000,
    "large numbers": list(range(10**9, 10**9 + 8500)),
    "one English text": "The quick brown fox.\r\n" * 4500,
    "one German text": "Größe, Maß und Übung. " * 4200,
    "one Chinese text": "一次一步，做完为止。" * 3300,
    "combining marks": "e\u0301a\u0308 " * 14_000,
    "flags in text": "done 🇩🇪 " * 7000,
    "joined emoji in text": "done 👨\u200d👩\u200d👧 " * 4200,
    "Hindi text": "एक समय में एक कदम। " * 2000,
}


def main() -> None:
    print(f"{'value':24}{'KB':>6}{'estimate ms':>13}{'json ms':>9}{'ratio':>8}")
    for name, value in VALUES.items():
        size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
        ours, theirs = best_ms(estimate_tokens, value), best_ms(json.dumps, value)
        print(f"{name:24}{size // 1000:>6}{ours:>13.2f}{theirs:>9.2f}{ours / theirs:>8.1f}")


def best_ms(function: Callable[[Json], object], value: Json) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        function(value)
        best = min(best, time.perf_counter() - start)
    return best * 1000


if __name__ == "__main__":
    main()
