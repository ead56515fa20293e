#!/bin/sh
# The official SDKs as clients of the playground: `sh scripts/referees.sh [PROGRAM]`, by default
# target/debug/larkspur. Installs the SDKs below target/referees if it can; ends with 2 if something
# is missing, and names it.
set -eu
cd "$(dirname "$0")/.."
program="${1:-target/debug/larkspur}"
folder="$PWD/target/referees"
python_sdk=lark-oapi==1.7.5
node_sdk=@larksuiteoapi/node-sdk@1.74.0

missing() {
    printf 'SKIPPED: %s\n' "$1"
    exit 2
}

command -v python3 >/dev/null || missing "there is no Python: the official SDKs are not tried"
command -v node >/dev/null || missing "there is no Node.js: the official SDKs are not tried"

mkdir -p "$folder"
python="$folder/python/bin/python"
if ! "$python" -c 'import lark_oapi' 2>/dev/null; then
    # Some systems ship Python without the part that makes a folder for it.
    python3 -m venv "$folder/python" >/dev/null 2>&1 ||
        { apt-get update -q && apt-get install -y -q python3-venv; } >/dev/null 2>&1 || true
    { python3 -m venv "$folder/python" && "$python" -m pip install --quiet "$python_sdk"; } \
        >/dev/null 2>&1 || missing "$python_sdk could not be installed: it is not tried"
fi
if [ ! -d "$folder/node_modules/@larksuiteoapi/node-sdk" ]; then
    npm install --silent --no-save --no-package-lock --prefix "$folder" "$node_sdk" \
        >/dev/null 2>&1 || missing "$node_sdk could not be installed: it is not tried"
fi

# Both are on this machine: a proxy has no part in it.
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
export LARKSPUR="$PWD/$program" MODULES="$folder" NO_PROXY='*' no_proxy='*'
outcome=0
"$python" tests/referees/python_client.py || outcome=1
node --test --test-reporter=spec tests/referees/node_client.mjs || outcome=1
exit $outcome
