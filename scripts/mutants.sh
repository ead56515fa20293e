#!/bin/sh
# Breaks one line of the product at a time and expects a test to notice.
# The list is tests/mutants.txt; a number runs that one only: `sh scripts/mutants.sh 7`.
# Called by `sh scripts/test.sh --mutants`. Works in a copy, so the checkout stays as it is.
set -eu
root="$(cd "$(dirname "$0")/.." && pwd)"
only="${1:-}"

copy="${TMPDIR:-/tmp}/larkspur-mutants.$$"
trap 'rm -rf "$copy"' EXIT
trap 'exit 1' INT TERM
mkdir -p "$copy"
(cd "$root" && git ls-files -z | tar --null -T - -cf -) | tar -xf - -C "$copy"
cd "$copy"
# A target folder of its own, kept between runs: only the product is built again.
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target/mutants}"
export CARGO_TARGET_DIR

number=0
survived=0
killed=0
# A mutant is four lines: the file, what stands there, what stands there instead, the tests.
while IFS= read -r file; do
    case "$file" in ''|'#'*) continue ;; esac
    IFS= read -r before
    IFS= read -r after
    IFS= read -r tests
    number=$((number + 1))
    if [ -n "$only" ] && [ "$only" != "$number" ]; then continue; fi
    cp "$file" "$file.kept"
    if ! BEFORE="$before" AFTER="$after" awk '
        BEGIN { before = ENVIRON["BEFORE"]; after = ENVIRON["AFTER"] }
        !done && (at = index($0, before)) {
            $0 = substr($0, 1, at - 1) after substr($0, at + length(before)); done = 1
        }
        { print }
        END { exit !done }' "$file.kept" >"$file"; then
        printf 'mutant %s: %s no longer has: %s\n' "$number" "$file" "$before"
        exit 1
    fi
    # shellcheck disable=SC2086 # the tests are words
    if cargo nextest run --features test-support --fail-fast $tests >"$copy/log" 2>&1; then
        survived=$((survived + 1))
        printf 'mutant %s SURVIVED: %s: %s\n' "$number" "$file" "$before"
    elif grep -q 'could not compile' "$copy/log"; then
        printf 'mutant %s does not compile: %s: %s\n' "$number" "$file" "$after"
        grep -m 3 '^error' "$copy/log"
        exit 1
    elif grep -q 'no tests to run' "$copy/log"; then
        printf 'mutant %s: no test is named %s\n' "$number" "$tests"
        exit 1
    else
        killed=$((killed + 1))
        printf 'mutant %s noticed by %s\n' "$number" "$(sed -n 's/.*FAIL \[[^]]*\] *([^)]*) *//p' "$copy/log" | head -n 1)"
    fi
    mv "$file.kept" "$file"
done <"$root/tests/mutants.txt"

printf '%s mutants noticed, %s survived\n' "$killed" "$survived"
[ "$survived" -eq 0 ]
