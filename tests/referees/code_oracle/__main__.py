"""Compares renames with TypeScript's language service on real packages; prints a table and every difference.

`python -m tests.referees.code_oracle` judges 12 renames of each kind in each package; `--per-kind N` changes
that, names of packages judge only those, `--record` keeps the outcome beside the judges. It fails on a
wrong edit, and when fewer than 98 of 100 renames are identical.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from handrail_code.facts.join import Style
from tests.referees.code_oracle.comparing import judge
from tests.referees.code_oracle.judged import Judged
from tests.referees.code_oracle.kept import take_per_kind
from tests.referees.code_oracle.outcome import list_differences, tabulate, write_record
from tests.referees.code_oracle.packages import PACKAGES, TYPESCRIPT
from tests.referees.equipment import NotAvailable

PER_KIND = 12
WANTED_SHARE = 0.98
STYLES: tuple[Style, ...] = ("keep", "follow")


def main(arguments: Sequence[str]) -> int:
    words, per_kind = take_per_kind(arguments, PER_KIND)
    names = [word for word in words if not word.startswith("--")]
    unknown = set(names) - {package.name for package in PACKAGES}
    if unknown:
        print(
            f"Unknown: {', '.join(sorted(unknown))}. Packages: {', '.join(each.name for each in PACKAGES)}."
        )
        return 2
    outcomes: dict[Style, list[Judged]] = {style: [] for style in STYLES}
    for package in PACKAGES:
        if names and package.name not in names:
            continue
        try:
            for style in STYLES:
                outcomes[style] += judge(package, style, per_kind)
        except NotAvailable as trouble:
            print(f"Skipped: {trouble}.")
            return 0
        print(f"{package.name}: {len(outcomes['keep'])} so far", flush=True)
    for style in STYLES:
        print("\n".join(["", f"## {style}, {TYPESCRIPT}", "", *tabulate(outcomes[style])]))
        print("\n".join(["", *list_differences(outcomes[style])]))
    if "--record" in words:
        write_record(outcomes["keep"], outcomes["follow"])
    return 0 if is_good_enough(outcomes["keep"]) else 1


def is_good_enough(judged: Sequence[Judged]) -> bool:
    identical = sum(1 for each in judged if each.verdict == "identical")
    wrong = sum(1 for each in judged if each.verdict == "wrong")
    return wrong == 0 and identical >= WANTED_SHARE * len(judged)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
