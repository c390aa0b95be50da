"""The completion script for bash (3.2 and newer). Pure."""

from __future__ import annotations

from handrail.surfaces.cli.self_description.shell_scripts.words import Words, case_of

_WALK = r"""
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
    _handrail_word "$at" "$given"
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


def bash_script(words: Words) -> str:
    """The walk over the line, and the table as `case` lines."""
    known = "|".join(sorted({*words.after, *words.flags} - {""}))
    values = [
        f"    {case_of(path)}' {flag}') spec='{_told(value)}' ;;"
        for (path, flag), value in sorted(words.values.items(), reverse=True)
    ]
    flags = [f"    '{path}') spec='one {' '.join(after)}' ;;" for path, after in words.flags.items() if path]
    return "\n".join(
        [
            "# Completion of handrail for bash.",
            f"_handrail_known='|{known}|'",
            "_handrail_value() {",
            "  spec=''",
            "  case $1 in",
            *values,
            "  esac",
            "}",
            "_handrail_flags() {",
            "  case $1 in",
            *flags,
            f"    *) spec='one {' '.join(words.flags[''])}' ;;",
            "  esac",
            "}",
            "_handrail_word() {",
            "  spec=''",
            "  case $1,$2 in",
            *(f"    '{path}',*) spec='one {' '.join(after)}' ;;" for path, after in words.after.items()),
            *(
                f"    '{path}',{place}) spec='{_told(value)}' ;;"
                for (path, place), value in words.positions.items()
            ),
            "  esac",
            "}",
            *_WALK.strip("\n").split("\n"),
            "",
        ]
    )


def _told(value: tuple[str, ...]) -> str:
    """A value in one line; what holds spaces is parted by bars."""
    return "phrase " + "|".join(value[1:]) if value[0] == "phrase" else " ".join(value)
