#!/bin/sh
# Feeds every fuzz target for a while, beginning with the recorded events and the shipped files:
# `sh scripts/fuzz.sh [SECONDS [TARGET...]]`, a minute each by default.
# Needs cargo-fuzz (installed if it can be) and a C++ compiler; what a target finds is kept in
# fuzz/artifacts, with the command that repeats it.
set -eu
cd "$(dirname "$0")/.."

seconds="${1:-60}"
[ $# -gt 0 ] && shift
targets="${*:-event decrypt content frame config bot_file}"

command -v cargo-fuzz >/dev/null 2>&1 || cargo install --locked --quiet cargo-fuzz
# The stable compiler knows the sanitizer's flags, too; it only wants to be asked for them.
export RUSTC_BOOTSTRAP=1

seed() { mkdir -p "fuzz/corpus/$1"; }
for target in $targets; do
    seed "$target"
    case "$target" in
    event) cp tests/fixtures/feishu-events/*.json "fuzz/corpus/event/" ;;
    decrypt)
        python3 - <<'PYTHON'
import json
vectors = json.load(open("tests/fixtures/feishu-vectors.json"))["aes_256_cbc"]
for number, vector in enumerate(vectors["cases"] + vectors["invalid"]):
    for name, value in vector.items():
        if isinstance(value, str) and len(value) > 24:
            open(f"fuzz/corpus/decrypt/{number}-{name}", "w").write(value)
PYTHON
        ;;
    content)
        python3 - <<'PYTHON'
import glob, json
for path in glob.glob("tests/fixtures/feishu-events/*.json"):
    body = json.load(open(path))
    message = (body.get("event") or {}).get("message") if isinstance(body, dict) else None
    if isinstance(message, dict) and "content" in message:
        name = path.rsplit("/", 1)[1]
        text = f"{message.get('message_type')}\n{message['content']}"
        open(f"fuzz/corpus/content/{name}", "w").write(text)
PYTHON
        ;;
    frame)
        python3 - <<'PYTHON'
import json
vectors = json.load(open("tests/fixtures/feishu-vectors.json"))["ws"]
frames = {frame["name"]: frame["hex"] for frame in vectors["frames"] + vectors["malformed"]}
for number, text in enumerate(vectors["fragmented"]["frames_hex_in_seq_order"]):
    frames[f"piece-{number}"] = text
for name, text in frames.items():
    open(f"fuzz/corpus/frame/{name}", "wb").write(bytes.fromhex(text))
PYTHON
        ;;
    config) cp config/*.toml "fuzz/corpus/config/" ;;
    bot_file) cp bots/*.toml "fuzz/corpus/bot_file/" ;;
    esac
    printf '\n== %s for %s s\n' "$target" "$seconds"
    cargo fuzz run "$target" -- -max_total_time="$seconds" -max_len=65536 -print_final_stats=1
done
