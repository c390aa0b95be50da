"""Compares renames in Python with jedi, rope and pyright, and runs packages' own tests after renames.

`python -m tests.referees.code_oracle.python_oracle` judges 5 renames of each kind in each package, and
`--per-kind N` as many; names of packages judge only those, `--record` keeps the outcome for the reference
page. It fails on a wrong edit: one after which a file does not compile, a name is in another scope by the
compiler's tables, one that none of them makes and nothing explains, or one that breaks own tests.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

from tests.referees.code_oracle.ask_pyright import PYRIGHT
from tests.referees.code_oracle.kept import take_per_kind
from tests.referees.code_oracle.python_comparing import PythonJudged, find_referees, judge_python
from tests.referees.code_oracle.python_outcome import (
    OwnTests,
    summarize_python,
    tabulate_python,
    write_python_record,
)
from tests.referees.code_oracle.python_own_tests import run_own_tests
from tests.referees.code_oracle.python_packages import PYTHON_PACKAGES
from tests.referees.equipment import HERE, NotAvailable

PER_KIND = 5


def main(arguments: Sequence[str]) -> int:
    words, per_kind = take_per_kind(arguments, PER_KIND)
    names = [word for word in words if not word.startswith("--")]
    judged: list[PythonJudged] = []
    own_tests: list[OwnTests] = []
    try:
        for package in PYTHON_PACKAGES:
            if names and package.name not in names:
                continue
            judged += judge_python(package, per_kind)
            if package.tests:
                own_tests.append(run_own_tests(package))
                print(own_tests[-1])
            print(f"{package.name}: {len(judged)} so far", flush=True)
    except NotAvailable as trouble:
        print(f"Skipped: {trouble}.")
        return 0
    record = summarize_python(judged, own_tests, _versions())
    print("\n".join(tabulate_python(record)))
    for each in judged:
        if each.wrong:
            print(f"wrong: {each.package}: {each.question.name} in {each.question.file}: {each.wrong}")
    is_good = record.wrong == 0 and all(each.passed_after >= each.passed_before > 0 for each in own_tests)
    if "--record" in words and is_good:
        write_python_record(record)
    return 0 if is_good else 1


def _versions() -> dict[str, str]:
    with open(os.path.join(HERE, "requirements", "code-python.txt"), encoding="utf-8") as file:
        found = dict(re.findall(r"^([a-z-]+)==(\S+)", file.read(), re.MULTILINE))
    found["pyright"] = PYRIGHT.partition("@")[2]
    return {name: found[name] for name in find_referees()}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
