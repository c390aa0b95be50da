"""The prompts and resources that the official suite asks for by name."""

from __future__ import annotations

import json
import re

from handrail.contract.outcome import Json
from tests.referees.suite_fixtures.content import IMAGE, PNG, embedded, text
from tests.referees.suite_fixtures.questions import PROMPT

PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    PROMPT: (),
}
"""Name → its required arguments."""
TEXT = "test://static-text"
BINARY = "test://static-binary"
WATCHED = "test://watched-resource"
TEMPLATE = "test://template/{id}/data"
RESOURCES = {TEXT: "text/plain", BINARY: "image/png", WATCHED: "text/plain"}


def prompt_definitions() -> list[Json]:
    return [
        {
            "name": name,
            "description": f"The suite's {name}.",
            "arguments": [
                {"name": each, "description": "Given by the suite.", "required": True} for each in arguments
            ],
        }
        for name, arguments in PROMPTS.items()
    ]


def prompt_messages(name: str, given: dict[str, str]) -> list[Json]:
    held: list[Json]
    match name:
        case "test_simple_prompt":
            held = [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            held = [text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            words = "Embedded resource content for testing."
            held = [
                embedded(given["resourceUri"], "text/plain", words),
                text("Please process the embedded resource above."),
            ]
        case _:
            held = [IMAGE, text("Please analyze the image above.")]
    return [{"role": "user", "content": each} for each in held]


def resource_definitions() -> list[Json]:
    return [
        {"uri": uri, "name": uri.removeprefix("test://"), "description": "Static.", "mimeType": kind}
        for uri, kind in RESOURCES.items()
    ]


def template_definitions() -> list[Json]:
    return [{"uriTemplate": TEMPLATE, "name": "data", "description": "Data of one id."}]


def resource_contents(uri: str) -> dict[str, Json] | None:
    """None for an address that is not one of the suite's."""
    if uri == BINARY:
        return {"uri": uri, "mimeType": "image/png", "blob": PNG}
    if uri in RESOURCES:
        words = "This is the content of the static text resource."
        return {"uri": uri, "mimeType": "text/plain", "text": words}
    if found := re.fullmatch(r"test://template/([^/]+)/data", uri):
        body = {"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"}
        return {"uri": uri, "mimeType": "application/json", "text": json.dumps(body)}
    return None
