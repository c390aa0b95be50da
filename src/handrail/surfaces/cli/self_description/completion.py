"""`handrail completion`: a script for the shell that completes words, flags and their values.

The script contains the whole table, so that a key press starts no process. If it knows no word, the
shell offers files.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.hook import EVENTS
from handrail.surfaces.cli.reading.command_table import COMMANDS, GLOBALS
from handrail.surfaces.cli.reading.parse import commands_under, label_of, views_of

Shell: TypeAlias = Literal["bash", "zsh", "fish"]
SHELLS: tuple[Shell, ...] = get_args(Shell)

_INSTALL = {
    "bash": "handrail completion --shell bash --format raw >> ~/.bash_completion",
    "zsh": 'handrail completion --shell zsh --format raw > "${fpath[1]}/_handrail"',
    "fish": "handrail completion --shell fish --format raw > ~/.config/fish/completions/handrail.fish",
}


class ShowCompletion(Input, frozen=True, kw_only=True):
    """The input: which shell."""

    shell: Annotated[Shell, Meta(description="The shell that shall complete.")]


class Completion(Answer, frozen=True, kw_only=True):
    """The script, and the command that installs it."""

    shell: str
    install: str
    script: str


def show_completion(_: Runtime, request: ShowCompletion) -> Completion:
    """Return the script, made from the command table."""
    script = _spell_script(command_words(), _DIALECTS[request.shell])
    return Completion(shell=request.shell, install=_INSTALL[request.shell], script=script)


OPERATION = Operation(
    name="self.completion",
    effect="read",
    where="client",
    summary="Print a shell script that completes commands, flags and their choices.",
    input=ShowCompletion,
    output=Completion,
    perform=show_completion,
    shape=Shape(levels={"minimal": ("shell", "install")}, drop_order=("script",)),
)


# What a shell can offer: the words after a group or a command, its flags, the choices of a flag


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """The command table as the scripts need it; the empty path is the tool itself, or every place."""

    after: dict[str, tuple[str, ...]]
    """The words that may follow, by the path before them."""
    flags: dict[str, tuple[str, ...]]
    """The flags of a command, its own first."""
    values: dict[tuple[str, str], tuple[str, ...]]
    """The choices, by command and flag."""


def command_words() -> Words:
    """Return the words, flags and choices of every command."""
    flags = {"": tuple(flag["flag"] for flag in GLOBALS)}
    values = {("", flag["flag"]): flag["choices"] for flag in GLOBALS}
    after = _after()
    for path in commands_under(""):
        params = {label_of(param): param for view in views_of(path) for param in view["params"]}
        own = sorted(param["flag"] for param in params.values() if param["flag"])
        flags[path] = (*own, *COMMANDS[path]["globals"])
        values |= {(path, param["flag"]): param["choices"] for param in params.values() if param["flag"]}
        after[path] = tuple(one for param in params.values() if param["position"] for one in param["choices"])
    after["hook"] += EVENTS
    values[("reference", "--domain")] = after[""]
    return Words(
        after={path: words for path, words in after.items() if words},
        flags=flags,
        values={place: tuple(choices) for place, choices in sorted(values.items()) if choices},
    )


def _after() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {"": {}}
    for path in sorted(commands_under("")):
        words = path.split(" ")
        for place, word in enumerate(words):
            found.setdefault(" ".join(words[:place]), {})[word] = None
    return {path: tuple(words) for path, words in sorted(found.items())}


# The walk over the line: bash (3.2 and newer), zsh, fish (3.1 and newer)


_BASH = r"""
_handrail() {
  local at='' next spec='' cur=${COMP_WORDS[COMP_CWORD]} i IFS=$' \t\n'
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="${at:+$at }${COMP_WORDS[i]}"
    case "$_handrail_known" in *"|$next|"*) at=$next ;; esac
  done
  _handrail_value "$at ${COMP_WORDS[COMP_CWORD-1]}"
  if [ -z "$spec" ]; then
    case $cur in -*) _handrail_flags "$at" ;; *) _handrail_word "$at" ;; esac
  fi
  COMPREPLY=($(compgen -W "$spec" -- "$cur"))
}
complete -o default -F _handrail handrail
"""
_ZSH = r"""
_handrail() {
  local at='' next word
  local -a spec
  for word in ${words[2,CURRENT-1]}; do
    next="${at:+$at }$word"
    if [[ $_handrail_known == *"|$next|"* ]]; then at=$next; fi
  done
  _handrail_value "$at ${words[CURRENT-1]}"
  if (( ! ${#spec} )); then
    if [[ $PREFIX == -* ]]; then _handrail_flags "$at"; else _handrail_word "$at"; fi
  fi
  compadd -- $spec || _files
}
if [[ ${funcstack[1]} == _handrail ]]; then _handrail "$@"; else compdef _handrail handrail; fi
"""
_FISH = r"""
function __handrail_complete
  set -l cur (commandline -ct)
  set -l words (commandline -opc)
  set -l at ''
  for word in $words[2..-1]
    set -l next (string trim -- "$at $word")
    if contains -- "$next" $__handrail_known
      set at "$next"
    end
  end
  set -l spec (__handrail_value "$at $words[-1]")
  if not count $spec >/dev/null
    if string match -q -- '-*' "$cur"
      set spec (__handrail_flags "$at")
    else
      set spec (__handrail_word "$at")
    end
  end
  set spec (string match -- "$cur*" $spec)
  if count $spec >/dev/null
    printf '%s\n' $spec
  else
    complete -C "__handrail_none $cur"
  end
end
complete -c handrail -f -a '(__handrail_complete)'
"""


# The table in the syntax of each shell


class _Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """The shell's syntax for lists of words, for the function that looks one up, and for each of
    its cases.
    """

    known: str
    between: str
    opened: str
    case: str
    closed: str
    star: str
    """The wildcard inside quotes."""
    walk: str


_DIALECTS: dict[Shell, _Dialect] = {
    "bash": _Dialect(
        known="# Completion of handrail for bash.\n_handrail_known='|%s|'",
        between="|",
        opened="_handrail_%s() {\n  spec=''\n  case $1 in",
        case="    '%s') spec='%s' ;;",
        closed="  esac\n}",
        star="'*'",
        walk=_BASH,
    ),
    "zsh": _Dialect(
        known="#compdef handrail\n# Completion of handrail for zsh.\ntypeset -g _handrail_known='|%s|'",
        between="|",
        opened="_handrail_%s() {\n  spec=()\n  case $1 in",
        case="    '%s') spec=(%s) ;;",
        closed="  esac\n}",
        star="'*'",
        walk=_ZSH,
    ),
    "fish": _Dialect(
        known="# Completion of handrail for fish.\nset -g __handrail_known '%s'",
        between="' '",
        opened='function __handrail_%s\n  switch "$argv[1]"',
        case="    case '%s'\n      printf '%%s\\n' %s",
        closed="  end\nend",
        star="*",
        walk=_FISH,
    ),
}


def _spell_script(words: Words, dialect: _Dialect) -> str:
    """Return the script: the table, of which the first matching case counts, and the walk over the line."""
    known = sorted({*words.after, *words.flags} - {""})
    values = sorted(words.values.items(), reverse=True)  # those of every place come last
    tables = {
        "value": {f"{path or '*'} {flag}": choices for (path, flag), choices in values},
        "flags": {path or "*": words.flags[path] for path in sorted(words.flags, reverse=True)},
        "word": words.after,
    }
    lines = [dialect.known % dialect.between.join(known)]
    for name, cases in tables.items():
        shown = {case.replace("*", dialect.star): " ".join(offered) for case, offered in cases.items()}
        lines += [dialect.opened % name, *(dialect.case % one for one in shown.items()), dialect.closed]
    return "\n".join([*lines, dialect.walk.strip("\n"), ""])
