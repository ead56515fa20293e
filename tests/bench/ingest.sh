#!/bin/sh
# Compares accepting an event with the official SDKs and with doing nothing, at an empty store and
# at big ones, and writes the tables into README.md beside this file, between the markers.
#
#     sh tests/bench/ingest.sh        ROUNDS=7 EVENTS=20000 CONNECTIONS=64 by default
#     BIG=0 sh tests/bench/ingest.sh  without the big stores (10 M keys: several minutes, 8 GB)
#
# Needs node with npm and python3 with venv; installs the SDKs below the target folder. The page
# cache is only dropped for root.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
for program in cargo npm node python3; do
    command -v "$program" >/dev/null 2>&1 || { echo "ingest.sh needs $program" >&2; exit 69; }
done

peers="$target/bench-peers"
mkdir -p "$peers"
[ -d "$peers/node/node_modules/@larksuiteoapi/node-sdk" ] ||
    npm install --silent --no-audit --no-fund --prefix "$peers/node" @larksuiteoapi/node-sdk
if [ ! -x "$peers/python/bin/python" ]; then
    python3 -m venv "$peers/python"
    "$peers/python/bin/pip" install --quiet lark-oapi flask waitress
fi

set -- --rounds "${ROUNDS:-7}" --events "${EVENTS:-20000}" --connections "${CONNECTIONS:-64}" \
    --peers "$peers" --readme "$here/README.md"
if [ "${BIG:-1}" != 0 ]; then
    set -- "$@" --sizes "$target/bench-stores"
fi
cd "$root"
exec cargo bench --bench ingest -- "$@"
