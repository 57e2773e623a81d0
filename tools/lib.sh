# shellcheck shell=bash
# Sourced by the scripts beside it.

# forge_count LOG passed|failed|skipped: from the last line of forge test; 0 where forge did not get that far.
forge_count() {
  grep -Eo '[0-9]+ tests passed, [0-9]+ failed, [0-9]+ skipped' "$1" | tail -n 1 |
    awk -v what="$2" '{ n = what == "passed" ? $1 : what == "failed" ? $4 : $6 } END { print n + 0 }'
}
