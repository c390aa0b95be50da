"""The completion script for fish (3.1 and newer). Pure."""

from __future__ import annotations

from handrail.surfaces.cli.self_description.shell_scripts.words import Words

_WALK = r"""
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


def fish_script(words: Words) -> str:
    """The walk over the line, and the table as `case` lines."""
    known = sorted({*words.after, *words.flags} - {""})
    own = [
        f"    case '{path} {flag}'\n      printf '%s\\n' {_told(value)}"
        for (path, flag), value in sorted(words.values.items())
        if path
    ]
    everywhere = [
        f"    case '* {flag}'\n      printf '%s\\n' {_told(value)}"
        for (path, flag), value in sorted(words.values.items())
        if not path
    ]
    flags = [
        f"    case '{path}'\n      printf '%s\\n' one {' '.join(after)}"
        for path, after in words.flags.items()
        if path
    ]
    return "\n".join(
        [
            "# Completion of handrail for fish.",
            "set -g __handrail_known " + " ".join(f"'{path}'" for path in known),
            "function __handrail_value",
            '  switch "$argv[1]"',
            *own,
            *everywhere,
            "  end",
            "end",
            "function __handrail_flags",
            '  switch "$argv[1]"',
            *flags,
            "    case '*'",
            f"      printf '%s\\n' one {' '.join(words.flags[''])}",
            "  end",
            "end",
            "function __handrail_word",
            '  switch "$argv[1]"',
            *(
                f"    case '{path},*'\n      printf '%s\\n' one {' '.join(after)}"
                for path, after in words.after.items()
            ),
            *(
                f"    case '{path},{place}'\n      printf '%s\\n' {_told(value)}"
                for (path, place), value in words.positions.items()
            ),
            "  end",
            "end",
            *_WALK.strip("\n").split("\n"),
            "",
        ]
    )


def _told(value: tuple[str, ...]) -> str:
    return " ".join(f"'{one}'" if " " in one else one for one in value)
