#!/bin/sh
# Everything that must hold before a change lands: format, lints, documents, dependencies, tests.
# Needs a Rust toolchain; installs what else it needs if it can, and names what it had to skip.
# Words behind it go to the test runner: `sh scripts/test.sh gateway` runs the tests of that name.
# `sh scripts/test.sh --mutants` breaks lines of the product instead and expects tests to notice.
set -eu
cd "$(dirname "$0")/.."

if [ "${1:-}" = "--mutants" ]; then
    shift
    exec sh scripts/mutants.sh "$@"
fi

skipped=""
skip() { skipped="${skipped:+$skipped; }$1"; }
step() { printf '\n== %s\n' "$1"; }

# A tool of cargo's: there already, or built from the registry.
have() {
    command -v "$1" >/dev/null 2>&1 && return 0
    printf 'installing %s\n' "$1"
    cargo install --locked --quiet "$1" >/dev/null 2>&1
}

step "format"
cargo fmt --check

step "lints"
cargo clippy --locked --all-targets --all-features -- -D warnings
cargo clippy --locked --lib --bins -- -D warnings

step "documents"
RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --all-features --document-private-items

step "dependencies"
if have cargo-deny; then
    cargo deny --locked check bans licenses sources
else
    skip "cargo-deny could not be installed: licences and duplicates are not checked"
fi

# Tests of a full and of a failing disk mount one; without the right to do so they say SKIPPED.
probe="$(mktemp -d)"
if mount -t tmpfs -o size=1m tmpfs "$probe" 2>/dev/null; then
    umount "$probe"
else
    skip "nothing may be mounted here: full and failing disks are not tested"
fi
rmdir "$probe"

step "tests"
if command -v cargo-nextest >/dev/null 2>&1; then
    cargo nextest run --locked --features test-support "$@"
    cargo test --locked --features test-support --doc
    # Where the platform's documents are silent it may answer in several ways: the tests from
    # outside hold in each.
    for position in 1 2; do
        step "tests, what the platform leaves open in position $position"
        LARKSPUR_SWITCHES=$position \
            cargo nextest run --locked --features test-support --test it "$@"
    done
else
    # Slower, the same tests.
    cargo test --locked --features test-support "$@"
fi

# A script that ends with 2 says what it was missing.
from_outside() {
    step "$1"
    outcome=0
    said="$(sh "$2")" || outcome=$?
    printf '%s\n' "$said"
    case $outcome in
    0) ;;
    2) skip "${said##*SKIPPED: }" ;;
    *) exit 1 ;;
    esac
}

if [ $# -eq 0 ]; then
    from_outside "the demo in a browser" scripts/browser.sh
    from_outside "the official SDKs as referees" scripts/referees.sh
fi

if [ -n "$skipped" ]; then
    printf '\nSKIPPED: %s\n' "$skipped"
    # Where everything can be had (.ci/run), skipping is a failure.
    if [ -n "${NOTHING_SKIPPED:-}" ]; then exit 1; fi
fi
printf '\nall checks passed\n'
