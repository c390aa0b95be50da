"""What a person reads at a terminal: no line of a quote stands without its mark."""

from __future__ import annotations

from handrail.host.terminal import fold_quotes
from tests.cases import every_case


@every_case(
    ("line", "shown"),
    [
        ("> one two three", ["> one two", "> three"]),
        ("> abcdefghijklmnop", ["> abcdefgh", "> ijklmnop"]),
        ("> 漢字漢字漢字", ["> 漢字漢字", "> 漢字"]),
        ("> short", ["> short"]),
        ("Ours is as long as it is", ["Ours is as long as it is"]),
    ],
)
def test_long_line_of_a_quote_is_marked_on_every_line(line: str, shown: list[str]) -> None:
    assert fold_quotes(line, 10).split("\n") == shown


def test_quote_keeps_every_word_even_in_one_column() -> None:
    text = "Asked:\n> " + " ".join(f"word{number}" for number in range(200)) + "\nYes?"

    for width in (1, 3, 20, 79):
        first, *quoted, last = fold_quotes(text, width).split("\n")
        assert (first, last) == ("Asked:", "Yes?")
        assert all(line.startswith("> ") for line in quoted)
        assert "".join(line[2:] for line in quoted).replace(" ", "") == text.split("\n")[1][2:].replace(
            " ", ""
        )
