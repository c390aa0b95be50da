"""The tokenizer of every search: words of any script, joined names and their parts, beginnings, rarity."""

from __future__ import annotations

import pytest

from handrail.contract.search_terms import (
    LONGEST_TERM,
    MOST_TERMS,
    PREFIX_WEIGHT,
    index_terms,
    list_terms,
    read_query,
    weigh_by_rarity,
)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Fix the Parser!", ["fix", "the", "parser"]),
        ("AUTH-1", ["auth-1", "auth", "1"]),
        ("feature/login_page", ["feature", "login_page", "login", "page"]),
        ("--flag -x_", ["flag", "x"]),
        ("Été à la plage", ["été", "à", "la", "plage"]),
        ("E\u0301te\u0301", ["été"]),  # the same word with combining accents
        ("вход и Выход", ["вход", "и", "выход"]),
        ("Διόρθωση", ["διόρθωση"]),
        ("STRASSE straße", ["strasse", "strasse"]),
        ("支払い", ["支払", "払い"]),
        ("支", ["支"]),
        ("修复login错误", ["修复", "login", "错误"]),
        ("ｆｕｌｌ　ｗｉｄｔｈ", ["full", "width"]),
        ("เข้าสู่", ["เข", "ข้", "้า", "าส", "สู", "ู่"]),
        ("हिन्दी", ["हिन्दी"]),
        ("", []),
        ("… !? /", []),
    ],
)
def test_text_splits_into_terms(text: str, terms: list[str]) -> None:
    assert list(list_terms(text)) == terms


@pytest.mark.parametrize(
    ("query", "text", "hit"),
    [
        ("auth", "AUTH-1 fails", 1.0),
        ("pars", "the parser", PREFIX_WEIGHT),
        ("par", "the parser", 0.0),
        ("parsers", "the parser", 0.0),
        ("διόρ", "διόρθωση", PREFIX_WEIGHT),
        ("支払", "支払い", 1.0),
    ],
)
def test_query_term_hits_words_and_beginnings(query: str, text: str, hit: float) -> None:
    (asked,) = read_query(query)

    assert asked.hit_by(index_terms([text])) == hit


def test_identifier_weighs_more_than_word_and_part() -> None:
    weights = {one.term: one.weight for one in read_query("about auth-1 v2 release")}

    assert weights["auth-1"] == weights["v2"] > weights["about"] == weights["release"] > weights["auth"]


def test_query_asks_each_term_once() -> None:
    assert [one.term for one in read_query("fix fix Fix")] == ["fix"]


def test_rarity_prefers_terms_of_few_texts() -> None:
    weights = weigh_by_rarity(read_query("fix parser zebra"), {"fix": 90, "parser": 2}, 100)

    assert weights["parser"] > weights["fix"] > 0
    assert "zebra" not in weights


def test_long_words_and_texts_are_bounded() -> None:
    assert list(list_terms("a" * 200)) == ["a" * LONGEST_TERM]
    assert sum(1 for _ in list_terms("word " * (MOST_TERMS + 5))) == MOST_TERMS
    assert [one.term for one in read_query("b" * 200)] == ["b" * LONGEST_TERM]
