#!/bin/sh
# How long a newcomer waits: from a clean clone, in a root that holds the toolchain, a C compiler and
# git and nothing else (no home, no downloaded packages, no built files), to the demo's first answer.
#
#     sh tests/bench/first_answer.sh           the README's first command
#     sh tests/bench/first_answer.sh --tests   the second one
#
# Needs bubblewrap, curl and the network from which cargo downloads. Prints seconds. For the tests
# the root has cargo-nextest, if this machine has it, and may mount small disks.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
repository=$(CDPATH='' cd -- "$here/../.." && pwd)
for tool in bwrap curl git rustc; do
    command -v "$tool" >/dev/null || { echo "first_answer.sh needs $tool" >&2; exit 69; }
done
toolchain=$(rustc --print sysroot)
root=$(mktemp -d)
port=8797
inside=
trap 'test -z "$inside" || kill "$inside" 2>/dev/null; rm -rf "$root"' EXIT INT TERM

now() { date +%s.%N; }
since() { awk -v from="$1" -v to="$(now)" 'BEGIN { printf "%.0f s\n", to - from }'; }

# The certificates of a network that has its own: curl and cargo read the system's, these do not.
certificates() {
    for name in NODE_EXTRA_CA_CERTS PIP_CERT SSL_CERT_FILE; do
        eval "value=\${$name:-}"
        test -z "$value" || printf -- '--setenv %s %s ' "$name" "$value"
    done
}

nextest=$(command -v cargo-nextest || command -v cargo)

# Runs a command in the empty root.
empty_root() {
    exec bwrap --die-with-parent --cap-add ALL --ro-bind "$nextest" "/tools/${nextest##*/}" --unshare-pid --proc /proc --dev /dev --tmpfs /tmp \
        --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib \
        --symlink usr/lib64 /lib64 --symlink usr/sbin /sbin --ro-bind /etc /etc \
        --ro-bind "$toolchain" /toolchain --bind "$root" /home --chdir /home/larkspur \
        --clearenv --setenv HOME /home --setenv LANG C.UTF-8 \
        $(certificates) \
        --setenv PATH /toolchain/bin:/tools:/home/.cargo/bin:/usr/bin:/bin:/usr/sbin "$@"
}

begin=$(now)
git clone --quiet "$repository" "$root/larkspur"
printf 'clone: %s\n' "$(since "$begin")"
if [ "${1:-}" = "--tests" ]; then
    (empty_root env NOTHING_SKIPPED=1 sh scripts/test.sh >"${OUTPUT:-$root/test.out}" 2>&1) || {
        tail -40 "${OUTPUT:-$root/test.out}"
        exit 1
    }
    printf 'all tests: %s\n' "$(since "$begin")"
    exit 0
fi

(empty_root cargo run --release --quiet -- demo --listen "127.0.0.1:$port" \
    >"$root/demo.out" 2>"$root/demo.err") &
inside=$!
until grep -q "Ctrl-C" "$root/demo.out" 2>/dev/null; do
    kill -0 "$inside" 2>/dev/null || { cat "$root/demo.err" >&2; exit 1; }
    sleep 0.2
done
printf 'demo ready: %s\n' "$(since "$begin")"
api="http://127.0.0.1:$port/sim/v1"
curl -sf "$api/say" -o /dev/null \
    -d '{"user":"ann","chat":"team","text":"怎么备份数据？","mention_bot":true}'
until curl -sf "$api/chats/team/messages" | grep -q '\[backup-'; do sleep 0.1; done
printf 'first answer: %s\n' "$(since "$begin")"
kill "$inside"
wait "$inside" 2>/dev/null || true
inside=
