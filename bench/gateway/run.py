#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gateway: CPU time a request, with keys, limits and metering on, beside nginx as a plain reverse proxy.

Both stand between the same load (wrk, 64 connections) and the same model server that costs nothing (fake-engine); each
has core 0 for itself, all else runs on core 1. CPU time is user + system time of all its threads from /proc, over the
requests that wrk counted; the two take turns, and the middle of the rounds counts.
"""

import base64
import hashlib
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "bench"))
import report  # noqa: E402

BIN = pathlib.Path(os.environ.get("TANDEM_BIN", ROOT / "build/release/bin"))
TICK = os.sysconf("SC_CLK_TCK")
SENTENCE = "Explain in plain words how two queues share one set of cards, and who has to wait for whom. "

NGINX = """
worker_processes 1; daemon off; pid {home}/nginx.pid; error_log {home}/nginx.err;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 10000000; client_body_buffer_size 64k;
  client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/f;
  uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
  upstream engine {{ server 127.0.0.1:{engine}; keepalive 128; keepalive_requests 10000000; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{ proxy_pass http://engine; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }}
  }}
}}
"""

WRK = """
wrk.method = "POST"
wrk.body = [[{body}]]
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer {key}"
done = function(summary, latency, requests)
  io.write(string.format("RESULT %d %d %.1f %d %d\\n", summary.requests, summary.errors.status,
    summary.requests / (summary.duration / 1e6), latency:percentile(50), latency:percentile(99)))
end
"""


def make_key():
    """A key as the product makes them: td_<12>_<43><6 of CRC-32>."""
    text = "td_" + "".join(secrets.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(12)) + "_"
    text += base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")
    return text + base64.urlsafe_b64encode(zlib.crc32(text.encode()).to_bytes(4, "big")).decode().rstrip("=")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for_port(port):
    for _ in range(200):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"nothing listens on {port}")


def pinned(core, *command, **more):
    taskset = ["taskset", "-c", str(core)] if (os.cpu_count() or 1) > 1 else []
    return subprocess.Popen([*taskset, *map(str, command)], **more)


def tree(pid):
    """The process and its children."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in tree(int(child)))]


def cpu_ticks(pids):
    total = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total


def resident_mb(pids):
    pages = sum(int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


class Bench:
    def __init__(self, home):
        self.home, self.key, self.running = pathlib.Path(home), make_key(), []

    def start(self, core, *command, ready=False, **more):
        process = pinned(core, *command, stdout=subprocess.PIPE if ready else subprocess.DEVNULL, text=True, **more)
        self.running.append(process)
        return process, process.stdout.readline().split() if ready else None

    def start_all(self):
        self.engine = free_port()
        self.start(1, BIN / "fake-engine", self.engine)
        wait_for_port(self.engine)
        self.nginx_port = free_port()
        conf = self.home / "nginx.conf"
        conf.write_text(NGINX.format(home=self.home, engine=self.engine, port=self.nginx_port))
        nginx, _ = self.start(0, shutil.which("nginx") or "/usr/sbin/nginx", "-c", conf, "-p", self.home,
                              stderr=subprocess.DEVNULL)
        wait_for_port(self.nginx_port)
        self.nginx = tree(nginx.pid)
        self.start_gateway()

    def start_gateway(self):
        limits = {"rate": 1_000_000_000, "concurrency": 100_000}
        uid = "0" * 23
        feed = {"generation": 1, "version": 1, "full": True,
                "keys": [{"keyId": self.key[3:15], "digest": hashlib.sha256(self.key.encode()).hexdigest(),
                          "subject": "user:bench", "projects": ["default"],
                          "requestsPerMinute": limits["rate"], "concurrency": limits["concurrency"]}],
                "services": [{"uid": uid + "1", "publicName": "fake", "project": "default", "namespace": "default",
                              "name": "fake", "phase": "ready", "concurrency": 10_000,
                              "replicas": [{"uid": uid + "2", "name": "fake-0", "epoch": 1,
                                            "endpoint": f"127.0.0.1:{self.engine}", "key": "secret",
                                            "modelVersion": "fake.v1"}]}]}
        given = self.home / "feed.json"
        given.write_text(json.dumps({"feed": feed, "limits": limits}))
        _, words = self.start(1, sys.executable, HERE / "server_stub.py", given, ready=True)
        gateway, words = self.start(0, BIN / "gateway-alone", "127.0.0.1:0", self.home / "gateway",
                                    f"http://127.0.0.1:{words[1]}", ready=True)
        self.gateway, self.gateway_port = tree(gateway.pid), int(words[1].rsplit(":", 1)[1])
        self.idle_mb = resident_mb(self.gateway)
        time.sleep(0.5)  # the feed's first snapshot

    def load(self, port, script, seconds):
        wrk = pinned(1, "wrk", "-t1", "-c64", f"-d{seconds}s", "-s", script, f"http://127.0.0.1:{port}/v1/chat/completions",
                     stdout=subprocess.PIPE, text=True)
        text = wrk.communicate()[0]
        found = re.search(r"RESULT (\d+) (\d+) ([\d.]+) (\d+) (\d+)", text)
        if not found:
            raise RuntimeError(text)
        if int(found[2]):
            raise RuntimeError(f"{found[2]} of {found[1]} requests were not answered 200")
        return int(found[1]), float(found[3]), int(found[4]), int(found[5])

    def measure(self, pids, port, script, seconds):
        before = cpu_ticks(pids)
        requests, rate, p50, p99 = self.load(port, script, seconds)
        return (cpu_ticks(pids) - before) / TICK * 1e6 / requests, rate

    def compare(self, stream, seconds, rounds):
        body = json.dumps({"model": "fake", "messages": [{"role": "user", "content": SENTENCE * 8}],
                           "temperature": 0.7, "max_tokens": 128, "stream": stream})
        script = self.home / f"wrk-{stream}.lua"
        script.write_text(WRK.format(body=body, key=self.key))
        pairs = [(self.nginx, self.nginx_port), (self.gateway, self.gateway_port)]
        for pids, port in pairs:
            self.measure(pids, port, script, 1)  # warm
        results = [[self.measure(pids, port, script, seconds) for pids, port in pairs] for _ in range(rounds)]
        return [tuple(statistics.median(r[side][i] for r in results) for i in (0, 1)) for side in (0, 1)]

    def stop(self):
        for process in reversed(self.running):
            process.send_signal(signal.SIGTERM)
        for process in self.running:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()


def main():
    parser = report.parser(__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=5, help="length of one measurement")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    result = report.Report("gateway", options.json)
    with tempfile.TemporaryDirectory(prefix="tandem-bench-") as home:
        bench = Bench(home)
        try:
            bench.start_all()
            for stream, what in ((False, "whole answer of 1 KB"), (True, "stream of 51 events")):
                result.say(f"{what}: {options.rounds} rounds of {options.seconds} s for each")
                nginx, ours = bench.compare(stream, options.seconds, options.rounds)
                result.add(f"gateway CPU a request, {what}", ours[0], "us", bar="<= 0.7 x" if stream else "<= 1.0 x",
                           peer="nginx plain proxy", peer_value=nginx[0])
                result.add(f"gateway requests/s on one core, {what}", ours[1], "1/s", peer="nginx plain proxy",
                           peer_value=nginx[1])
            result.add("gateway memory at rest", bench.idle_mb, "MB", bar="<= 40")
        finally:
            bench.stop()
    return result.finish()


if __name__ == "__main__":
    sys.exit(main())
