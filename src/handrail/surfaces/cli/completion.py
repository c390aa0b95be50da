"""`handrail completion`: a script for the shell that completes words, flags and their choices.

The script holds the whole table, so that a key press starts no process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeAlias, get_args

from msgspec import Meta

from handrail.contract.payload import Answer
from handrail.contract.shape import Shape
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli import _table

Shell: TypeAlias = Literal["bash", "zsh", "fish", "powershell"]
SHELLS: tuple[Shell, ...] = get_args(Shell)

_INSTALL = {
    "bash": "handrail completion --shell bash --format raw >> ~/.bash_completion",
    "zsh": 'handrail completion --shell zsh --format raw > "${fpath[1]}/_handrail"',
    "fish": "handrail completion --shell fish --format raw > ~/.config/fish/completions/handrail.fish",
    "powershell": "handrail completion --shell powershell --format raw | Out-String | Invoke-Expression",
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
    return Completion(shell=request.shell, install=_INSTALL[request.shell], script=_SCRIPTS[request.shell]())


def words_after() -> dict[str, tuple[str, ...]]:
    """What may follow a group or a command: its words, or its flags."""
    found: dict[str, dict[str, None]] = {"": {}}
    for path, command in sorted(_table.COMMANDS.items()):
        words = path.split(" ")
        for place, word in enumerate(words):
            found.setdefault(" ".join(words[:place]), {})[word] = None
        own = [param["flag"] for param in command["params"] if param["flag"]]
        found[path] = dict.fromkeys((*sorted(own), *command["globals"]))
    return {path: tuple(words) for path, words in sorted(found.items())}


def choices_after() -> dict[tuple[str, str], tuple[str, ...]]:
    """What may follow a flag of a command, where that is a closed set; the empty path is every command."""
    found = {("", flag["flag"]): flag["choices"] for flag in _table.GLOBALS if flag["choices"]}
    for path, command in sorted(_table.COMMANDS.items()):
        for param in command["params"]:
            if param["flag"] and param["choices"]:
                found[(path, param["flag"])] = param["choices"]
    return found


def _bash() -> str:
    known = "|".join(path for path in words_after() if path)
    values = [
        f'    "{path} {flag}") choices="{" ".join(choices)}" ;;'
        if path
        else f'    *" {flag}") choices="{" ".join(choices)}" ;;'
        for (path, flag), choices in sorted(choices_after().items(), reverse=True)
    ]
    words = [f'    "{path}") choices="{" ".join(after)}" ;;' for path, after in words_after().items()]
    return "\n".join(
        [
            "# Completion of handrail for bash.",
            "_handrail() {",
            '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"',
            '  local at="" next choices="" i',
            "  for ((i = 1; i < COMP_CWORD; i++)); do",
            '    next="${at:+$at }${COMP_WORDS[i]}"',
            f'    case "|{known}|" in *"|$next|"*) at="$next" ;; esac',
            "  done",
            '  case "$at $prev" in',
            *values,
            "  esac",
            '  if [ -z "$choices" ]; then case "$at" in',
            *words,
            "  esac; fi",
            '  COMPREPLY=($(compgen -W "$choices" -- "$cur"))',
            "}",
            "complete -o default -F _handrail handrail",
            "",
        ]
    )


def _zsh() -> str:
    known = "|".join(path for path in words_after() if path)
    values = [
        f'    "{path} {flag}") choices=({" ".join(choices)}) ;;'
        if path
        else f'    *" {flag}") choices=({" ".join(choices)}) ;;'
        for (path, flag), choices in sorted(choices_after().items(), reverse=True)
    ]
    words = [f'    "{path}") choices=({" ".join(after)}) ;;' for path, after in words_after().items()]
    return "\n".join(
        [
            "#compdef handrail",
            "# Completion of handrail for zsh.",
            "_handrail() {",
            '  local at="" next i',
            "  local -a choices",
            "  for ((i = 2; i < CURRENT; i++)); do",
            '    next="${at:+$at }${words[i]}"',
            f'    case "|{known}|" in *"|$next|"*) at="$next" ;; esac',
            "  done",
            '  case "$at ${words[CURRENT-1]}" in',
            *values,
            "  esac",
            '  if (( ! ${#choices} )); then case "$at" in',
            *words,
            "  esac; fi",
            '  compadd -- "${choices[@]}"',
            "}",
            'if [ "$funcstack[1]" = "_handrail" ]; then _handrail "$@"; else compdef _handrail handrail; fi',
            "",
        ]
    )


def _fish() -> str:
    lines = [
        "# Completion of handrail for fish.",
        "function __handrail_at",
        "  set -l at ''",
        "  for word in (commandline -opc)[2..-1]",
        '    set -l next (string trim -- "$at $word")',
        '    if contains -- "$next" $__handrail_known',
        '      set at "$next"',
        "    end",
        "  end",
        '  test "$at" = "$argv[1]"',
        "end",
        "set -g __handrail_known " + " ".join(f"'{path}'" for path in words_after() if path),
        "complete -c handrail -f",
    ]
    values = choices_after()
    for path, after in words_after().items():
        for word in after:
            at = f"complete -c handrail -n '__handrail_at \"{path}\"'"
            choices = values.get((path, word)) or values.get(("", word))
            if not word.startswith("--"):
                lines.append(f"{at} -a '{word}'")
            elif choices:
                lines.append(f"{at} -l {word[2:]} -x -a '{' '.join(choices)}'")
            else:
                lines.append(f"{at} -l {word[2:]}")
    return "\n".join([*lines, ""])


def _powershell() -> str:
    words = [f"    '{path}' = '{' '.join(after)}'" for path, after in words_after().items()]
    values = [
        f"    '{path} {flag}' = '{' '.join(choices)}'"
        for (path, flag), choices in sorted(choices_after().items())
    ]
    return "\n".join(
        [
            "# Completion of handrail for PowerShell.",
            "Register-ArgumentCompleter -Native -CommandName handrail -ScriptBlock {",
            "  param($wordToComplete, $commandAst, $cursorPosition)",
            "  $words = @{",
            *words,
            "  }",
            "  $values = @{",
            *values,
            "  }",
            "  $at = ''; $last = ''",
            "  foreach ($element in $commandAst.CommandElements | Select-Object -Skip 1) {",
            "    $word = $element.ToString()",
            "    if ($element.Extent.EndOffset -ge $cursorPosition) { continue }",
            '    $next = "$at $word".Trim()',
            "    if ($words.ContainsKey($next)) { $at = $next }",
            "    $last = $word",
            "  }",
            '  $choices = $values["$at $last"]',
            '  if (-not $choices) { $choices = $values[" $last"] }',
            "  if (-not $choices) { $choices = $words[$at] }",
            "  $choices -split ' ' | Where-Object { $_ -like \"$wordToComplete*\" } |",
            "    ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }",
            "}",
            "",
        ]
    )


_SCRIPTS: dict[Shell, Callable[[], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
    "powershell": _powershell,
}

OPERATION = Operation(
    name="self.completion",
    effect="read",
    summary="Print a script that completes commands, flags and their choices in your shell.",
    input=ShowCompletion,
    output=Completion,
    perform=show_completion,
    shape=Shape(
        levels={"minimal": ("shell", "install"), "standard": None, "full": None}, drop_order=("script",)
    ),
)
