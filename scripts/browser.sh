#!/bin/sh
# The demo in a real browser: `sh scripts/browser.sh [PROGRAM]`, by default target/debug/larkspur.
# Installs Chromium and its driver library if it can; ends with 2 if something is missing, and
# names it. Pictures of the last run are in target/browser/pictures.
set -eu
cd "$(dirname "$0")/.."
program="${1:-target/debug/larkspur}"
folder="$PWD/target/browser"
driver=playwright-core@1.65.1

missing() {
    printf 'SKIPPED: %s\n' "$1"
    exit 2
}

# With fonts: a browser without any shows boxes for Chinese.
browser() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
}
if ! browser >/dev/null; then
    { apt-get update -q && apt-get install -y -q chromium fonts-noto-cjk; } >/dev/null 2>&1 || true
fi
chromium="$(browser)" || missing "there is no Chromium: the demo is not seen in a browser"
command -v node >/dev/null || missing "there is no Node.js: the browser cannot be driven"

mkdir -p "$folder/pictures"
if [ ! -d "$folder/node_modules/playwright-core" ]; then
    npm install --silent --no-save --no-package-lock --prefix "$folder" "$driver" >/dev/null 2>&1 ||
        missing "$driver could not be installed: the browser cannot be driven"
fi

LARKSPUR="$PWD/$program" CHROMIUM="$chromium" MODULES="$folder" PICTURES="$folder/pictures" \
    node --test --test-concurrency=1 --test-reporter=spec tests/browser/demo.test.mjs \
    tests/browser/live.test.mjs
