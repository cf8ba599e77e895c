#!/usr/bin/env bash
# Adds up what runs of tests printed into FILE; prints "N passed, M failed", and fails if something failed. A run that
# printed no such line counts as one failure.
#   sum-results.sh RUNS FILE
set -euo pipefail
awk -v expected="$1" '
  /^[0-9]+ passed, [0-9]+ failed$/ { runs++; passed += $1; failed += $3 }
  / failed$/ && /^npm / { ended++ }
  END {
    if (runs != expected || (ended && !failed)) failed++
    print passed + 0 " passed, " failed + 0 " failed"
    exit failed > 0
  }' "$2"
