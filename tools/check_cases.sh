#!/usr/bin/env bash
# Checks tools/cases.txt against the names of the tests: every case has a test whose name begins with its id, or a
# reason why not. Prints each offence; exits 1 when there is any. Usage: tools/check_cases.sh [root]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

tests=$(find test -name '*_test.cc' -print0 | xargs -0 cat | tr -s ' \n' ' ' |
  grep -oE 'TEST(_F|_P)?\( ?[A-Za-z0-9]+, ?[A-Z][A-Z0-9]*_[0-9]{2}_' | grep -oE '[A-Z][A-Z0-9]*_[0-9]{2}_$' |
  sed 's/_$//; s/_/-/' | sort -u)
bad=0
offend() { echo "tools/cases.txt: $*"; bad=1; }
while read -r id word _; do
  case $id in '' | '#'*) continue ;; esac
  if grep -qx "$id" <<< "$tests"; then
    if [ "$word" = none: ]; then offend "$id has a test: take its reason away"; fi
  elif [ "$word" != none: ]; then
    offend "$id has no test whose name begins with ${id/-/_}_"
  fi
done < tools/cases.txt
kinds=$(grep -oE '^[A-Z][A-Z0-9]*-' tools/cases.txt | sort -u)
for id in $tests; do
  if grep -qxF -- "${id%%-*}-" <<< "$kinds" && ! grep -qE "^$id( |$)" tools/cases.txt; then
    offend "$id has a test and no line"
  fi
done
[ "$bad" = 0 ] && echo "cases: clean"
exit "$bad"
