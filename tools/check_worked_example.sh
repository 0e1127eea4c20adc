#!/usr/bin/env bash
# Does what CONTRIBUTING.md's worked example says, in a copy of the sources, and checks that it is true: the files are
# complete, formatted and free of warnings, exactly those files change, and the new picker passes the conformance suite.
# Usage: tools/check_worked_example.sh
set -euo pipefail
cd "$(dirname "$0")/.."

guide=$PWD/CONTRIBUTING.md
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

fail() { echo "CONTRIBUTING.md: $*" >&2; exit 1; }

# The fenced block that follows the line "<!-- NAME -->".
block() {
  awk -v mark="<!-- $1 -->" '$0 == mark { found = 1; next }
    found && /^```/ { if (open) exit; open = 1; next }
    open' "$guide"
}

git ls-files .clang-format 'steelyard/base/*' 'steelyard/schema/*' 'steelyard/model/*' 'steelyard/pick/*' 'test/pick/*' |
  xargs cp --parents -t "$copy"
cd "$copy"
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=check GIT_AUTHOR_EMAIL=check@localhost
export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
git init -q . && git add -A && git commit -q -m before

mapfile -t files < <(sed -n 's/^<!-- file: \(.*\) -->$/\1/p' "$guide")
[ "${#files[@]}" -gt 0 ] || fail "has no example"
for file in "${files[@]}"; do
  [ ! -e "$file" ] || fail "$file is there already: take another example"
  block "file: $file" > "$file"
  [ -s "$file" ] || fail "the block of $file is empty"
done

# One line in the list, with its include.
mapfile -t lines < <(block "line: steelyard/pick/registry.cc")
[ "${#lines[@]}" = 2 ] || fail "the registry takes one include and one line"
awk -v include="${lines[0]}" -v entry="${lines[1]}" '
  /^#include "steelyard\/pick\// && NR > 1 { in_block = 1 }
  in_block && !included && ($0 > include || $0 == "") { print include; included = 1 }
  /kKinds\{/ { in_list = 1 }
  in_list && /^};/ { print entry; in_list = 0 }
  { print }' steelyard/pick/registry.cc > registry.new
mv registry.new steelyard/pick/registry.cc

git add -A -N
stat=$(git diff --stat=100)
[ "$stat" = "$(block stat)" ] || { diff <(block stat) <(echo "$stat") >&2 || true; fail "the change is another one (> what it is)"; }
if command -v clang-format-19 > /dev/null; then
  clang-format-19 --dry-run --Werror "${files[@]}" steelyard/pick/registry.cc || fail "the example is not formatted"
fi

compiler="g++"
if command -v ccache > /dev/null; then compiler="ccache g++"; fi
objects=()
tests=$(printf '%s\n' "${files[@]}" | grep _test.cc)
for source in steelyard/{base,model,pick}/*.cc test/pick/{allocations,conformance_test,eligibility_fuzz_test,cases_test}.cc $tests; do
  object=${source//\//_}.o
  $compiler -std=c++20 -O1 -Wall -Wextra -Wconversion -Wshadow -Wno-missing-field-initializers -Wno-interference-size \
    -Werror -I. -c "$source" -o "$object" || fail "$source does not compile"
  objects+=("$object")
done
g++ "${objects[@]}" -lgtest_main -lgtest -pthread -o pick_test

name=$(sed -n 's/.*>("\([a-z0-9_]*\)".*/\1/p' <<< "${lines[1]}")
class=$(sed -n 's/.*kind<\([A-Za-z0-9]*\)>.*/\1/p' <<< "${lines[1]}")
./pick_test --gtest_brief=1 --gtest_filter="*/$name:$class.*:Registry.*" | tee out.txt
ran=$(sed -n 's/^\[==========\] \([0-9]*\) tests.*ran.*/\1/p' out.txt)
[ "${ran:-0}" -ge 20 ] || fail "only ${ran:-0} tests ran for $name"
echo "worked example: $name, ${#files[@]} files and one line, $ran tests"
