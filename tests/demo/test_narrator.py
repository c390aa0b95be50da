"""How the demo tells: at most 80 columns, tokens short, everything kept as data too."""

from __future__ import annotations

import pytest

from handrail.demo.scene import Check, Narrator

TOKEN = "ak1" + "0123456789abcdefghjkmnpqrstvwxyz0123456789abcdefghjkm"


class Heard:
    """A narrator and what it wrote and how often it paused."""

    def __init__(self) -> None:
        self.text = ""
        self.pauses: list[float] = []
        self.narrator = Narrator(self._write, self.pauses.append)
        self.narrator.begin("A title")
        self.text = ""

    def _write(self, text: str) -> None:
        self.text += text


@pytest.fixture
def heard() -> Heard:
    return Heard()


def check_told(heard: Heard, *lines: str) -> None:
    """Written with an indent of three, kept without."""
    assert heard.text == "".join(f"   {line}".rstrip() + "\n" for line in lines)
    assert heard.narrator.chapters[-1].told == list(lines)
    assert all(len(line) <= 80 for line in heard.text.splitlines())


def test_chapters_are_numbered() -> None:
    written: list[str] = []
    narrator = Narrator(written.append, lambda _: None)

    narrator.begin("One")
    narrator.begin("Two")

    assert written == ["\n1. One\n\n", "\n2. Two\n\n"]
    assert [chapter.title for chapter in narrator.chapters] == ["One", "Two"]


def test_a_paragraph_is_wrapped(heard: Heard) -> None:
    heard.narrator.say("word " * 20)

    check_told(heard, " ".join(["word"] * 15), " ".join(["word"] * 5))


def test_a_command_is_shown_as_it_would_be_typed(heard: Heard) -> None:
    heard.narrator.command(["run", "continue", "--ack", TOKEN, "--notes", "it's done", "--compact"])

    check_told(heard, "$ handrail run continue --ack ak1…ghjkm --notes 'it'\"'\"'s done'")


def test_a_long_command_is_cut_and_its_quote_closed(heard: Heard) -> None:
    heard.narrator.command(["run", "start", "--goal", "x" + " y" * 100])

    (line,) = heard.narrator.chapters[-1].told
    assert len(line) == 77
    assert line.startswith("$ handrail run start --goal 'x y y")
    assert line.endswith("…'")


def test_a_quotation_shows_its_beginning(heard: Heard) -> None:
    heard.narrator.quote("First line.\n\nSecond line.\nThird.", lines=2)

    check_told(heard, "  | First line.", "  | Second line.", "  | …")


def test_a_short_quotation_is_whole(heard: Heard) -> None:
    heard.narrator.quote("First line.")

    check_told(heard, "  | First line.")


def test_a_row_has_a_name_and_a_value_with_short_tokens(heard: Heard) -> None:
    heard.narrator.row("next", TOKEN)
    heard.narrator.row("long", "v" * 100)

    check_told(heard, "  next         ak1…ghjkm", "  long         " + "v" * 61 + "…")


def test_a_block_keeps_its_shape_and_its_tokens(heard: Heard) -> None:
    heard.narrator.block(["|\\ o branch", f"token {TOKEN}"])

    check_told(heard, "  |\\ o branch", f"  token {TOKEN}")


@pytest.mark.parametrize(("passed", "mark"), [(True, "[ok]"), (False, "[FAILED]")])
def test_a_claim_is_told_with_its_verdict(heard: Heard, passed: bool, mark: str) -> None:
    heard.narrator.check("It holds.", passed)

    check_told(heard, f"{mark} It holds.")
    assert heard.narrator.checks == [Check(claim="It holds.", passed=passed)]
    assert heard.narrator.has_passed() is passed


def test_a_long_claim_is_wrapped_below_itself(heard: Heard) -> None:
    heard.narrator.check("word " * 20, True)

    check_told(heard, "[ok] " + " ".join(["word"] * 14), "     " + " ".join(["word"] * 6))


def test_there_is_a_pause_for_every_chapter_and_claim(heard: Heard) -> None:
    heard.narrator.say("no pause here")
    heard.narrator.check("It holds.", True)

    assert heard.pauses == [0.4, 0.1]
