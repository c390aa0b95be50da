"""`handrail completion`: a script for the shell that completes words, flags and their values.

The script holds the whole table, so that a key press starts no process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeAlias, get_args

from msgspec import Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.self_description.shell_scripts.bash import bash_script
from handrail.surfaces.cli.self_description.shell_scripts.fish import fish_script
from handrail.surfaces.cli.self_description.shell_scripts.words import Words, command_words
from handrail.surfaces.cli.self_description.shell_scripts.zsh import zsh_script

Shell: TypeAlias = Literal["bash", "zsh", "fish"]
SHELLS: tuple[Shell, ...] = get_args(Shell)

_INSTALL = {
    "bash": "handrail completion --shell bash --format raw >> ~/.bash_completion",
    "zsh": 'handrail completion --shell zsh --format raw > "${fpath[1]}/_handrail"',
    "fish": "handrail completion --shell fish --format raw > ~/.config/fish/completions/handrail.fish",
}
_SCRIPTS: dict[Shell, Callable[[Words], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}


class ShowCompletion(Input, frozen=True, kw_only=True):
    """For which shell."""

    shell: Annotated[Shell, Meta(description="The shell that shall complete.")]


class Completion(Answer, frozen=True, kw_only=True):
    """The script, and the line that puts it in place."""

    shell: str
    install: str
    script: str


def show_completion(_: Runtime, request: ShowCompletion) -> Completion:
    """The script, made from the command table."""
    script = _SCRIPTS[request.shell](command_words())
    return Completion(shell=request.shell, install=_INSTALL[request.shell], script=script)


OPERATION = Operation(
    name="self.completion",
    effect="read",
    where="companion",
    summary="Print a script that completes commands, flags and their choices in your shell.",
    input=ShowCompletion,
    output=Completion,
    perform=show_completion,
    shape=Shape(
        levels={"minimal": ("shell", "install"), "standard": None, "full": None}, drop_order=("script",)
    ),
)
