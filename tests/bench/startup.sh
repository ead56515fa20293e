#!/bin/sh
# Measures the start of the daemon: from spawn to the first 200 of /healthz, and what it says
# itself; its memory when idle; the size of the program. Writes the table into README.md beside
# this file, between the markers.
#
#     sh tests/bench/startup.sh            RUNS=20 by default; BIN=… measures another program
#
# Needs python3: a loop in the shell is coarser than what is measured.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
command -v python3 >/dev/null 2>&1 || { echo "startup.sh needs python3" >&2; exit 69; }

if [ -z "${BIN:-}" ]; then
    (cd "$root" && cargo build --release --quiet)
    BIN="${CARGO_TARGET_DIR:-$root/target}/release/larkspur"
fi

exec python3 - "$BIN" "$here/README.md" "${RUNS:-20}" <<'PYTHON'
import datetime, json, math, os, platform, re, signal, socket, statistics, subprocess, sys, tempfile, time

binary, readme, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
IDLE_SECONDS = 3
SETTLE_SECONDS = 0.1  # between the measurement and the SIGTERM, whose handler may come later
PATIENCE_SECONDS = 30


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def is_healthy(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return connection.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def start(idle):
    """One start on an empty store: (outside ms, inside ms, resident KiB or None)."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        os.makedirs(f"{folder}/config")
        os.makedirs(f"{folder}/bots")
        with open(f"{folder}/bots/assistant.toml", "w") as bot:
            bot.write('name = "assistant"\n')
        main = f"{folder}/config/larkspur.toml"
        with open(main, "w") as file:
            file.write(f'[server]\nlisten = "127.0.0.1:{port}"\n[log]\nformat = "json"\n')
        log = open(f"{folder}/log", "w+")
        begun = time.perf_counter()
        daemon = subprocess.Popen([binary, "run", "--config", main], stderr=log, stdin=subprocess.DEVNULL)
        while not is_healthy(port):
            if daemon.poll() is not None or time.perf_counter() - begun > PATIENCE_SECONDS:
                daemon.kill()
                log.seek(0)
                sys.exit(f"the daemon does not start:\n{log.read()}")
            time.sleep(0.0002)
        outside = (time.perf_counter() - begun) * 1000
        resident = None
        if idle:
            time.sleep(IDLE_SECONDS)
            with open(f"/proc/{daemon.pid}/status") as status:
                resident = int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1))
        time.sleep(SETTLE_SECONDS)
        daemon.send_signal(signal.SIGTERM)
        code = daemon.wait(PATIENCE_SECONDS)
        if code != 0:
            sys.exit(f"the daemon does not end in order: {code}")
        log.seek(0)
        lines = [json.loads(line)["fields"] for line in log if line.startswith("{")]
        inside = next(line["startup_ms"] for line in lines if line.get("event") == "listening")
        return outside, inside, resident


def percentile(values, share):
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def processor():
    with open("/proc/cpuinfo") as info:
        names = re.findall(r"model name\s*:\s*(.+)", info.read())
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


start(idle=False)  # the first start reads the program from the disk
measured = [start(idle=False) for _ in range(runs)]
resident = [start(idle=True)[2] for _ in range(3)]
rows = []
for name, values in [
    ("spawn to the first 200 of `/healthz`", [outside for outside, _, _ in measured]),
    ("configuration read to `listening`, as logged", [inside for _, inside, _ in measured]),
]:
    rows.append(
        f"| {name} | {statistics.median(values):.1f} ms | {percentile(values, 0.95):.1f} ms "
        f"| {max(values):.1f} ms |"
    )
def stripped_size():
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/stripped"
        try:
            subprocess.run(["strip", "-o", out, binary], check=True)
        except (OSError, subprocess.CalledProcessError):
            return "unknown: no strip here"
        return f"{os.path.getsize(out) / (1 << 20):.1f} MiB"


size = os.path.getsize(binary) / (1 << 20)
version = subprocess.run([binary, "--version"], capture_output=True, text=True).stdout.strip()
load = os.getloadavg()[0]
table = "\n".join(
    [
        f"{version}, {datetime.date.today()}, {processor()}, {platform.system()} "
        f"{platform.release()}, load {load:.1f} at the end, {runs} starts on an empty store:",
        "",
        "| start | median | 95 % | slowest |",
        "|---|---|---|---|",
        *rows,
        "",
        "| size | |",
        "|---|---|",
        f"| resident memory, idle for {IDLE_SECONDS} s (median of {len(resident)}) "
        f"| {statistics.median(resident) / 1024:.1f} MiB |",
        f"| the program (`--release`, with line tables) | {size:.1f} MiB |",
        f"| the same without symbols | {stripped_size()} |",
    ]
)
begin, end = "<!-- startup: begin -->", "<!-- startup: end -->"
with open(readme) as file:
    text = file.read()
before, rest = text.split(begin)
with open(readme, "w") as file:
    file.write(f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}")
print(table)
PYTHON
