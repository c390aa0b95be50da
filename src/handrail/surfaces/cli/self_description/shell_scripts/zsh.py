"""The completion script for zsh. Pure."""

from __future__ import annotations

from handrail.surfaces.cli.self_description.shell_scripts.words import Words, case_of

_WALK = r"""
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


def zsh_script(words: Words) -> str:
    """The walk over the line, and the table as `case` lines."""
    known = "|".join(sorted({*words.after, *words.flags} - {""}))
    values = [
        f"    {case_of(path)}' {flag}') spec=({_told(value)}) ;;"
        for (path, flag), value in sorted(words.values.items(), reverse=True)
    ]
    flags = [f"    '{path}') spec=(one {' '.join(after)}) ;;" for path, after in words.flags.items() if path]
    return "\n".join(
        [
            "#compdef handrail",
            "# Completion of handrail for zsh.",
            f"typeset -g _handrail_known='|{known}|'",
            "_handrail_value() {",
            "  spec=()",
            "  case $1 in",
            *values,
            "  esac",
            "}",
            "_handrail_flags() {",
            "  case $1 in",
            *flags,
            f"    *) spec=(one {' '.join(words.flags[''])}) ;;",
            "  esac",
            "}",
            "_handrail_word() {",
            "  case $1 in",
            *(f"    '{path}',*) spec=(one {' '.join(after)}) ;;" for path, after in words.after.items()),
            *(
                f"    '{path}',{place}) spec=({_told(value)}) ;;"
                for (path, place), value in words.positions.items()
            ),
            "  esac",
            "}",
            *_WALK.strip("\n").split("\n"),
            "",
        ]
    )


def _told(value: tuple[str, ...]) -> str:
    return " ".join(f"'{one}'" if " " in one else one for one in value)
