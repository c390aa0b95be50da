#!/usr/bin/env bash
# Install Handrail from the checkout of this action into a folder of its own, beside the tools of the job.
set -euo pipefail

place="$RUNNER_TEMP/handrail-prove"

is_new_enough() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null
}

# The job may have chosen an older Python for its tests.
find_python() {
  local found
  for found in python3 /usr/bin/python3 python3.14 python3.13 python3.12 python3.11 \
    "${RUNNER_TOOL_CACHE:-/opt/hostedtoolcache}"/Python/3.1[1-9]*/*/bin/python3; do
    if is_new_enough "$found"; then
      echo "$found"
      return
    fi
  done
  echo "::error::Handrail needs Python 3.11 or newer. Add a step with actions/setup-python before it." >&2
  return 1
}

if [ ! -x "$place/bin/handrail" ]; then
  python=$(find_python)
  "$python" -m venv "$place"
  "$place/bin/python" -m pip install --quiet "$GITHUB_ACTION_PATH"
fi
echo "python=$place/bin/python" >> "$GITHUB_OUTPUT"
