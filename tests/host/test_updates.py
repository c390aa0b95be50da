"""What keeps an update honest on the machine: a manager that does not listen, and files nobody can keep."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from handrail.host.program import updates as updates_module
from handrail.host.program.updates import LocalUpdates
from handrail.ports.program import ManagerCall, UpdateCheck

LOOK = UpdateCheck(
    checked_at="2027-01-01T00:00:00.000Z", checked_unix=1, version="0.1.0", latest="0.2.0", asked="x"
)


def updates(home: Path) -> LocalUpdates:
    return LocalUpdates(str(home), dict(os.environ))


def test_a_manager_that_ignores_a_signal_is_ended_when_its_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updates_module, "_PATIENCE_SECONDS", 0.2)
    said: list[str] = []
    deaf = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    stubborn = f"{deaf}; print('here', flush=True); time.sleep(60)"
    call = ManagerCall(argv=(sys.executable, "-c", stubborn))

    driven = updates(tmp_path).drive(call, lambda: "signal" if said else "", said.append)

    assert (driven.status, driven.stopped_by, said) == (-9, "signal", ["here\n"])


def test_a_manager_that_ends_well_is_told_by_its_status_and_stands_nowhere_in_particular(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    call = ManagerCall(
        argv=(sys.executable, "-c", "import os; print(os.getcwd(), os.environ['OWN']); raise SystemExit(3)"),
        environment={"OWN": "value"},
    )

    driven = updates(tmp_path).drive(call, lambda: "", said.append)

    assert (driven.status, driven.stopped_by, said) == (3, "", [f"{os.path.abspath(os.sep)} value\n"])


def test_a_look_comes_back_as_it_was_kept_and_its_notice_lies_beside_it(tmp_path: Path) -> None:
    told = UpdateCheck(
        **{**{name: getattr(LOOK, name) for name in LOOK.__struct_fields__}, "notice": {"type": "x"}}
    )
    kept = updates(tmp_path)

    kept.keep_check(told)
    with_news = sorted(file.name for file in (tmp_path / "data/cache").iterdir()), kept.last_check()
    kept.keep_check(LOOK)
    without = sorted(file.name for file in (tmp_path / "data/cache").iterdir()), kept.last_check()
    kept.keep_check(None)

    assert with_news == (["notices.json", "update-check.json"], told)
    assert without == (["update-check.json"], LOOK)
    assert kept.last_check() is None
    assert (tmp_path / "data/cache").stat().st_mode & 0o777 == 0o700


def test_a_home_that_takes_no_files_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a directory belongs", encoding="utf-8")

    updates(tmp_path).keep_check(LOOK)

    assert updates(tmp_path).last_check() is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"checked_at": 7}', b"\xff"])
def test_what_is_no_look_is_no_look(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "data/cache").mkdir(parents=True)
    (tmp_path / "data/cache/update-check.json").write_bytes(content)

    assert updates(tmp_path).last_check() is None
