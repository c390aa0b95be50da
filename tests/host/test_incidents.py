"""Tracebacks of defects go to private files, and keeping one never makes things worse."""

from __future__ import annotations

import os
import stat

import pytest

from handrail.host.process import MOST_INCIDENT_BYTES, IncidentFiles


def mode(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def test_a_traceback_is_kept_for_its_owner_alone(home: str) -> None:
    before = os.umask(0)
    try:
        incident = IncidentFiles(home).record("Traceback: broken\n")
    finally:
        os.umask(before)

    path = os.path.join(home, "incidents", f"{incident}.txt")
    with open(path, encoding="utf-8") as file:
        assert file.read() == "Traceback: broken\n"
    assert mode(path) == 0o600
    assert mode(os.path.dirname(path)) == 0o700


def test_a_repeated_defect_adds_nothing(home: str) -> None:
    incidents = IncidentFiles(home)

    first, second, other = incidents.record("one"), incidents.record("one"), incidents.record("two")

    assert first == second != other
    assert sorted(os.listdir(os.path.join(home, "incidents"))) == sorted([f"{first}.txt", f"{other}.txt"])


def test_a_huge_traceback_is_cut(home: str) -> None:
    incident = IncidentFiles(home).record("x" * (MOST_INCIDENT_BYTES + 1))

    assert os.path.getsize(os.path.join(home, "incidents", f"{incident}.txt")) == MOST_INCIDENT_BYTES


def test_text_that_is_not_unicode_is_kept_as_far_as_it_goes(home: str) -> None:
    assert IncidentFiles(home).record("broken \udcff name") != ""


def test_without_a_place_to_write_the_id_is_empty(home: str) -> None:
    with open(home, "w", encoding="utf-8") as file:
        file.write("in the way")

    assert IncidentFiles(home).record("Traceback") == ""


def test_a_link_in_the_place_of_the_file_is_not_followed(home: str) -> None:
    incidents = IncidentFiles(home)
    incident = incidents.record("Traceback")
    path = os.path.join(home, "incidents", f"{incident}.txt")
    target = os.path.join(home, "target")
    os.remove(path)
    os.symlink(target, path)

    assert incidents.record("Traceback") == ""
    assert not os.path.exists(target)


@pytest.mark.parametrize("text", ["", "Traceback"])
def test_an_id_is_short_enough_to_quote(home: str, text: str) -> None:
    incident = IncidentFiles(home).record(text)

    assert len(incident) == 12
    assert set(incident) <= set("0123456789abcdef")
