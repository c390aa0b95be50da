"""`handrail completion`: a script for the shell that completes words, flags and their values.

The script holds the whole table, so that a key press starts no process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.hook import EVENTS
from handrail.surfaces.cli.reading import _table
from handrail.surfaces.cli.reading.parse import commands_under, label_of, views_of
from handrail.surfaces.cli.reading.rows import Param

# The completion script for fish (3.1 and newer).


_FISH = r"""
function __handrail_complete
  set -l cur (commandline -ct)
  set -l at ''
  set -l flag ''
  set -l ended ''
  set -l given 0
  for word in (commandline -opc)[2..-1]
    if test -n "$flag"
      set flag ''
    else if test -z "$ended"; and test "$word" = --
      set ended 1
    else if test -z "$ended"; and string match -q -- '--*=*' "$word"
      continue
    else if test -z "$ended"; and string match -q -- '--*' "$word"
      if count (__handrail_value "$at $word") >/dev/null
        set flag "$word"
      end
    else
      set -l next (string trim -- "$at $word")
      if contains -- "$next" $__handrail_known
        set at "$next"
      else
        set given (math $given + 1)
      end
    end
  end
  if test -n "$flag"
    __handrail_offer '' "$cur" (__handrail_value "$at $flag")
  else if test -z "$ended"; and string match -q -- '--*=*' "$cur"
    set -l parts (string split -m 1 -- = "$cur")
    __handrail_offer "$parts[1]=" "$parts[2]" (__handrail_value "$at $parts[1]")
  else if test -z "$ended"; and string match -q -- '-*' "$cur"
    __handrail_offer '' "$cur" (__handrail_flags "$at")
  else
    set -l spec (__handrail_word "$at,$given")
    if test -z "$ended"; and not count $spec >/dev/null
      set spec (__handrail_flags "$at")
    end
    __handrail_offer '' "$cur" $spec
  end
end
function __handrail_offer
  set -l kept $argv[1]
  # A quote that is still open cannot be unescaped.
  set -l cur (string unescape -- "$argv[2]"; or string trim -l -c '"\'' -- "$argv[2]")
  switch "$argv[3]"
    case one phrase
      printf '%s\n' $kept$argv[4..-1]
    case many
      set -l before (string match -r -- '^.*,' "$cur")
      printf '%s\n' $kept"$before"$argv[4..-1]
    case file
      __handrail_paths "$kept" "$cur"
    case folder
      __handrail_paths "$kept" "$cur" | string match -- '*/'
    case json
      if string match -q -- '@*' "$cur"
        __handrail_paths "$kept@" (string sub -s 2 -- "$cur")
      end
  end
end
function __handrail_paths
  for path in (complete -C "__handrail_none "(string escape -- "$argv[2]"))
    printf '%s\n' "$argv[1]$path"
  end
end
complete -c handrail -f
complete -c handrail -a '(__handrail_complete)'
"""


Shell: TypeAlias = Literal["bash", "zsh", "fish"]
SHELLS: tuple[Shell, ...] = get_args(Shell)

_INSTALL = {
    "bash": "handrail completion --shell bash --format raw >> ~/.bash_completion",
    "zsh": 'handrail completion --shell zsh --format raw > "${fpath[1]}/_handrail"',
    "fish": "handrail completion --shell fish --format raw > ~/.config/fish/completions/handrail.fish",
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
    script = _spell_script(command_words(), _DIALECTS[request.shell])
    return Completion(shell=request.shell, install=_INSTALL[request.shell], script=script)


OPERATION = Operation(
    name="self.completion",
    effect="read",
    where="companion",
    summary="Print a script that completes commands, flags and their choices in your shell.",
    input=ShowCompletion,
    output=Completion,
    perform=show_completion,
    shape=Shape(levels={"minimal": ("shell", "install")}, drop_order=("script",)),
)


# What a shell can offer: the words after a group, the flags of a command, the values of a flag.


FILE_KINDS = frozenset({"file", "document", "documents", "source", "sources"})
JSON_KINDS = frozenset({"object", "array", "input"})


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """The command table as the scripts need it.

    A value is described in one line: what it is, then its choices. `one` and `many` (with commas) are closed
    sets, `phrase` a closed set whose members hold spaces, `file`, `folder` and `json` (text, or a file after
    `@`) are completed by the shell, `other` is anything. A flag without a description takes no value.
    """

    after: dict[str, tuple[str, ...]]
    """What may follow a group, by its path; the empty path is the tool itself."""
    flags: dict[str, tuple[str, ...]]
    """The flags of a command, its own first; the empty path is every group."""
    values: dict[tuple[str, str], tuple[str, ...]]
    """By command and flag; the empty path is every place."""
    positions: dict[tuple[str, str], tuple[str, ...]]
    """By command and place, counted from 0, `*` for every one; only those that can be completed."""


def command_words() -> Words:
    """Everything the table knows."""
    commands = sorted(_table.COMMANDS.items())
    flags = {"": tuple(flag["flag"] for flag in _table.GLOBALS)}
    values = {("", flag["flag"]): _value(flag) for flag in _table.GLOBALS if flag["kind"] != "switch"}
    positions: dict[tuple[str, str], tuple[str, ...]] = {("hook", "0"): ("one", *EVENTS)}
    for path in commands_under(""):
        params = {label_of(param): param for view in views_of(path) for param in view["params"]}
        own = [param for param in params.values() if param["flag"]]
        flags[path] = (*sorted(param["flag"] for param in own), *_table.COMMANDS[path]["globals"])
        values |= {(path, param["flag"]): _value(param) for param in own if param["kind"] != "switch"}
        for param in params.values():
            if param["position"] and _value(param) != ("other",):
                place = "*" if param["is_plural"] else str(param["position"] - 1)
                positions[(path, place)] = _value(param)
    values[("reference", "--command")] = ("phrase", *(path for path, _ in commands))
    values[("reference", "--domain")] = ("one", *sorted({path.split(" ")[0] for path, _ in commands}))
    return Words(after=_after(), flags=flags, values=dict(sorted(values.items())), positions=positions)


def _after() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {"": {}}
    for path in sorted(commands_under("")):
        words = path.split(" ")
        for place, word in enumerate(words):
            found.setdefault(" ".join(words[:place]), {})[word] = None
    return {path: tuple(words) for path, words in sorted(found.items())}


def _value(param: Param) -> tuple[str, ...]:
    if param["choices"]:
        return ("many" if param["is_plural"] else "one", *param["choices"])
    if param["kind"] in JSON_KINDS:
        return ("json",)
    if param["kind"] in FILE_KINDS or param["value"] == "FILE":
        return ("file",)
    return ("folder",) if param["kind"] == "directory" else ("other",)


# The completion script for bash (3.2 and newer).


_BASH = r"""
_handrail() {
  local at='' flag='' ended='' next spec='' cur='' kept='' given=0 word i IFS=$' \t\n'
  local -a words=()
  COMPREPLY=()
  # Readline splits at = and @; put `--flag`, `=` and `value` together again.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]})); then
      case "$word ${words[${#words[@]}-1]}" in
        '='*' --'*'='*) ;;
        '='*' --'* | *' --'*= | *' @' | *'=@') words[${#words[@]}-1]+=$word; continue ;;
      esac
    fi
    words+=("$word")
  done
  cur=${words[${#words[@]}-1]}
  for ((i = 0; i < ${#words[@]} - 1; i++)); do
    word=${words[i]}
    if [ -n "$flag" ]; then flag=''
    elif [ -z "$ended" ] && [ "$word" = -- ]; then ended=1
    elif [ -z "$ended" ] && [ "${word#--}" != "$word" ]; then
      case $word in
        *=*) ;;
        *) _handrail_value "$at $word"; if [ -n "$spec" ]; then flag=$word; fi ;;
      esac
    else
      next="${at:+$at }$word"
      case "$_handrail_known" in *"|$next|"*) at=$next ;; *) given=$((given + 1)) ;; esac
    fi
  done
  if [ -n "$flag" ]; then _handrail_value "$at $flag"
  elif [ -z "$ended" ] && [ "${cur#--*=}" != "$cur" ]; then
    _handrail_value "$at ${cur%%=*}"
    kept="${cur%%=*}="
    cur=${cur#*=}
  elif [ -z "$ended" ] && [ "${cur#-}" != "$cur" ]; then _handrail_flags "$at"
  else
    _handrail_word "$at,$given"
    if [ -z "$spec$ended" ]; then _handrail_flags "$at"; fi
  fi
  case "$COMP_WORDBREAKS" in *=*) kept='' ;; esac
  _handrail_offer "${spec%% *}" "${spec#* }"
}
_handrail_offer() {
  local one quote=''
  case $1 in
    many) case $cur in *,*) kept+="${cur%,*},"; cur=${cur##*,} ;; esac ;;
    phrase)
      case $cur in \'* | \"*) quote=${cur:0:1}; cur=${cur:1} ;; *) cur=${cur//\\/} ;; esac
      IFS='|' ;;
    json)
      case $cur in @*) kept+=@; cur=${cur#@} ;; *) return ;; esac
      set -- file ;;
  esac
  case $1 in
    one | many | phrase)
      for one in $2; do
        case $one in
          "$cur"*)
            if [ "$1" = phrase ] && [ -z "$quote" ]; then one=${one// /\\ }; fi
            COMPREPLY+=("$kept$one") ;;
        esac
      done ;;
    file) _handrail_paths -f default ;;
    folder) _handrail_paths -d dirnames ;;
  esac
}
# Readline quotes and marks paths itself, where bash is new enough to be told so now.
_handrail_paths() {
  if [ -z "$kept" ] && compopt -o "$2" 2>/dev/null; then return; fi
  local one
  while IFS= read -r one; do
    printf -v one %q "$one"
    COMPREPLY+=("$kept$one")
  done < <(compgen "$1" -- "${cur//\\/}")
}
complete -F _handrail handrail
"""


# The completion script for zsh.


_ZSH = r"""
_handrail() {
  local at='' flag='' ended='' next word
  local -a spec
  integer i given=0
  for ((i = 2; i < CURRENT; i++)); do
    word=${words[i]}
    if [[ -n $flag ]]; then flag=''
    elif [[ -z $ended && $word == -- ]]; then ended=1
    elif [[ -z $ended && $word == --*=* ]]; then :
    elif [[ -z $ended && $word == --* ]]; then
      _handrail_value "$at $word"
      if (( ${#spec} )); then flag=$word; fi
    else
      next="${at:+$at }${(Q)word}"
      if [[ $_handrail_known == *"|$next|"* ]]; then at=$next; else (( given++ )); fi
    fi
  done
  spec=()
  if [[ -n $flag ]]; then _handrail_value "$at $flag"
  elif [[ -z $ended && $PREFIX == --*=* ]]; then
    _handrail_value "$at ${PREFIX%%=*}"
    compset -P 1 '*='
  elif [[ -z $ended && $PREFIX == -* ]]; then _handrail_flags "$at"
  else
    _handrail_word "$at,$given"
    if [[ -z $ended ]] && (( ! ${#spec} )); then _handrail_flags "$at"; fi
  fi
  case ${spec[1]} in
    one | phrase) compadd -- "${(@)spec[2,-1]}" ;;
    many) compset -P '*,'; compadd -S '' -- "${(@)spec[2,-1]}" ;;
    json) if compset -P '@'; then _files; else return 1; fi ;;
    file) _files ;;
    folder) _files -/ ;;
    *) return 1 ;;
  esac
}
if [[ ${funcstack[1]} == _handrail ]]; then _handrail "$@"; else compdef _handrail handrail; fi
"""


# The table in the words of each shell


class _Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """How a shell writes the words that it knows, a function that looks one up, and each of its cases."""

    known: str
    between: str
    opened: str
    case: str
    closed: str
    star: str
    """What stands for anything inside of quotes."""
    tell: Callable[[tuple[str, ...]], str]
    walk: str


def _tell_in_bars(value: tuple[str, ...]) -> str:
    """A value in one line; what holds spaces is parted by bars."""
    return "phrase " + "|".join(value[1:]) if value[0] == "phrase" else " ".join(value)


def _tell_in_quotes(value: tuple[str, ...]) -> str:
    return " ".join(f"'{one}'" if " " in one else one for one in value)


_DIALECTS: dict[Shell, _Dialect] = {
    "bash": _Dialect(
        known="# Completion of handrail for bash.\n_handrail_known='|%s|'",
        between="|",
        opened="_handrail_%s() {\n  spec=''\n  case $1 in",
        case="    '%s') spec='%s' ;;",
        closed="  esac\n}",
        star="'*'",
        tell=_tell_in_bars,
        walk=_BASH,
    ),
    "zsh": _Dialect(
        known="#compdef handrail\n# Completion of handrail for zsh.\ntypeset -g _handrail_known='|%s|'",
        between="|",
        opened="_handrail_%s() {\n  spec=()\n  case $1 in",
        case="    '%s') spec=(%s) ;;",
        closed="  esac\n}",
        star="'*'",
        tell=_tell_in_quotes,
        walk=_ZSH,
    ),
    "fish": _Dialect(
        known="# Completion of handrail for fish.\nset -g __handrail_known '%s'",
        between="' '",
        opened='function __handrail_%s\n  switch "$argv[1]"',
        case="    case '%s'\n      printf '%%s\\n' %s",
        closed="  end\nend",
        star="*",
        tell=_tell_in_quotes,
        walk=_FISH,
    ),
}


def _spell_script(words: Words, dialect: _Dialect) -> str:
    """The table, whose first case that fits counts, and the walk over the line."""
    known = sorted({*words.after, *words.flags} - {""})
    values = sorted(words.values.items(), reverse=True)  # those of every place come last
    tables = {
        "value": {f"{path or '*'} {flag}": value for (path, flag), value in values},
        "flags": {path or "*": ("one", *words.flags[path]) for path in sorted(words.flags, reverse=True)},
        "word": {f"{path},*": ("one", *after) for path, after in words.after.items()}
        | {f"{path},{place}": value for (path, place), value in words.positions.items()},
    }
    lines = [dialect.known % dialect.between.join(known)]
    for name, cases in tables.items():
        shown = {case.replace("*", dialect.star): dialect.tell(value) for case, value in cases.items()}
        lines += [dialect.opened % name, *(dialect.case % one for one in shown.items()), dialect.closed]
    return "\n".join([*lines, dialect.walk.strip("\n"), ""])
