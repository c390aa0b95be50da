"""The completion script for PowerShell (5.1 and newer). Pure.

Where it offers nothing, PowerShell itself completes paths.
"""

from __future__ import annotations

from handrail.surfaces.cli.self_description.shell_scripts.words import Words

_WALK = r"""
  $at = ''; $flag = ''; $ended = $false; $given = 0
  foreach ($element in $commandAst.CommandElements | Select-Object -Skip 1) {
    if ($element.Extent.EndOffset -ge $cursorPosition) { continue }
    $word = $element.Extent.Text.Trim([char[]]@(39, 34))
    if ($flag) { $flag = '' }
    elseif ((-not $ended) -and ($word -ceq '--')) { $ended = $true }
    elseif ((-not $ended) -and $word.StartsWith('--')) {
      if (-not $word.Contains('=')) {
        if ($values.ContainsKey("$at $word") -or $values.ContainsKey(" $word")) { $flag = $word }
      }
    }
    else {
      $next = "$at $word".Trim()
      if ($after.ContainsKey($next) -or $flags.ContainsKey($next)) { $at = $next } else { $given++ }
    }
  }
  $current = $wordToComplete; $kept = ''; $spec = $null
  if ($flag) {
    $spec = $values["$at $flag"]
    if (-not $spec) { $spec = $values[" $flag"] }
  }
  elseif ((-not $ended) -and $current.StartsWith('--') -and $current.Contains('=')) {
    $name = $current.Substring(0, $current.IndexOf('='))
    $spec = $values["$at $name"]
    if (-not $spec) { $spec = $values[" $name"] }
    $kept = "$name="
    $current = $current.Substring($kept.Length)
  }
  elseif ((-not $ended) -and $current.StartsWith('-')) {
    $spec = $flags[$at]
    if (-not $spec) { $spec = $flags[''] }
  }
  else {
    if ($after.ContainsKey($at)) { $spec = $after[$at] }
    elseif ($places.ContainsKey("$at,$given")) { $spec = $places["$at,$given"] }
    elseif ($places.ContainsKey("$at,*")) { $spec = $places["$at,*"] }
    elseif (-not $ended) { $spec = $flags[$at] }
  }
  if (-not $spec) { return }
  $kind = $spec[0]
  if (@('one', 'many', 'phrase') -cnotcontains $kind) { return }
  if (($kind -ceq 'many') -and $current.Contains(',')) {
    $comma = $current.LastIndexOf(',') + 1
    $kept = $kept + $current.Substring(0, $comma)
    $current = $current.Substring($comma)
  }
  $current = $current.Trim([char[]]@(39, 34))
  foreach ($choice in $spec | Select-Object -Skip 1) {
    if ($choice.StartsWith($current, [StringComparison]::Ordinal)) {
      $text = $kept + $choice
      if ($choice.Contains(' ')) { $text = $kept + "'" + $choice + "'" }
      [System.Management.Automation.CompletionResult]::new($text, $choice, 'ParameterValue', $choice)
    }
  }
"""


def powershell_script(words: Words) -> str:
    """The walk over the line, and the table as hash tables of lists."""
    values = [f"    '{path} {flag}' = {_told(value)}" for (path, flag), value in words.values.items()]
    return "\n".join(
        [
            "# Completion of handrail for PowerShell.",
            "Register-ArgumentCompleter -Native -CommandName handrail -ScriptBlock {",
            "  param($wordToComplete, $commandAst, $cursorPosition)",
            "  $after = @{",
            *(f"    '{path}' = {_told(('one', *after))}" for path, after in words.after.items()),
            "  }",
            "  $flags = @{",
            *(f"    '{path}' = {_told(('one', *own))}" for path, own in words.flags.items()),
            "  }",
            "  $values = @{",
            *values,
            "  }",
            "  $places = @{",
            *(f"    '{path},{place}' = {_told(value)}" for (path, place), value in words.positions.items()),
            "  }",
            *_WALK.strip("\n").split("\n"),
            "}",
            "",
        ]
    )


def _told(value: tuple[str, ...]) -> str:
    return "@(" + ", ".join(f"'{one}'" for one in value) + ")"
