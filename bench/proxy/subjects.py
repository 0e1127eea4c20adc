"""What is measured: the peers, the relays and Steelyard, each with one worker on processor 0."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field

PROXY_CPU, FAR_CPU = "0", "1"

# Keep-alive both ways, no logs, buffers that suit large bodies: larger ones cost page faults.
NGINX = """\
daemon off;
worker_processes 1;
worker_rlimit_nofile {files};
pid {dir}/nginx.pid;
error_log {dir}/nginx-error.log crit;
events {{ worker_connections {connections}; use epoll; multi_accept on; accept_mutex off; }}
http {{
  access_log off;
  server_tokens off;
  tcp_nodelay on;
  keepalive_timeout 300s;
  keepalive_requests 1000000000;
  client_body_buffer_size 64k;
  client_body_temp_path {dir}/nginx-body;
  proxy_temp_path {dir}/nginx-proxy;
  fastcgi_temp_path {dir}/nginx-fastcgi;
  uwsgi_temp_path {dir}/nginx-uwsgi;
  scgi_temp_path {dir}/nginx-scgi;
  proxy_buffer_size 32k;
  proxy_buffers 8 16k;
  proxy_busy_buffers_size 48k;
  proxy_max_temp_file_size 0;
  upstream nodes {{
    server 127.0.0.1:{nodes[0]};
    server 127.0.0.1:{nodes[1]};
    server 127.0.0.1:{nodes[2]};
    keepalive 512;
    keepalive_requests 1000000000;
    keepalive_timeout 300s;
  }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_pass http://nodes;
    }}
  }}
}}
"""

# The same; buffers of 32 KiB, so that a body of 16 KiB and its head need one read.
HAPROXY = """\
global
  nbthread 1
  maxconn 9000
  tune.maxaccept 64
  tune.bufsize 32768
defaults
  mode http
  maxconn 9000
  timeout connect 5s
  timeout client 300s
  timeout server 300s
  timeout http-keep-alive 300s
  timeout http-request 60s
  option http-keep-alive
  option forwardfor
  http-reuse always
frontend clients
  bind 127.0.0.1:{port} backlog 4096
  default_backend nodes
backend nodes
  balance roundrobin
  server n1 127.0.0.1:{nodes[0]} pool-purge-delay 300s pool-max-conn 512
  server n2 127.0.0.1:{nodes[1]} pool-purge-delay 300s pool-max-conn 512
  server n3 127.0.0.1:{nodes[2]} pool-purge-delay 300s pool-max-conn 512
"""

# Time-outs, limits, metrics (with the admin address) and health checking are all on.
STEELYARD = """\
workers: 1
clients: {{ head_timeout: 10s, idle_timeout: 5m, max_connections: 9000, max_head: 64KiB, max_body: 100MiB }}
pool: {{ connections: 512, idle_timeout: 5m }}
admin: {{ address: "127.0.0.1:{admin}" }}
listeners:
  - address: 127.0.0.1:{port}
    routes:
      - upstream: bench
        timeouts: {{ connect: 1s, head: 10s, idle: 1m, total: 2m }}
        retry: {{ attempts: 1 }}
upstreams:
  bench:
    nodes: ["127.0.0.1:{nodes[0]}", "127.0.0.1:{nodes[1]}", "127.0.0.1:{nodes[2]}"]
    pick: round_robin
    health:
      active: {{ http: {{ path: /health }}, interval: 1s, timeout: 500ms }}
"""


class Failure(Exception):
    """Something that stops the benchmark, told in one line."""


@dataclass
class Subject:
    name: str
    kind: str           # peer, relay or ours
    back_end: str       # epoll or uring
    command: list
    port: int = 0
    process: subprocess.Popen = field(default=None, repr=False)


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Bench:
    """Starts and stops processes; all that it started ends with it."""

    def __init__(self, folder, binaries):
        self.dir, self.binaries = folder, binaries
        self.processes = []
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # else nothing below is undone
        self.ahead = self.first_in_line()

    # Root may put the run before whatever else the machine does: its processes, and its session where the kernel
    # weighs sessions.
    def first_in_line(self):
        self.group = None
        if os.geteuid() != 0:
            return []
        try:
            with open("/proc/self/autogroup") as file:
                was = re.search(r"nice (-?\d+)", file.read())
            if was is not None:  # empty where the kernel does not group sessions
                with open("/proc/self/autogroup", "w") as file:
                    file.write("-20")
                self.group = was[1]
        except OSError:
            pass
        test = subprocess.run(["nice", "-n", "-20", "true"], capture_output=True)
        return ["nice", "-n", "-20"] if test.returncode == 0 and not test.stderr else []

    def spawn(self, name, cpu, command, **more):
        with open(f"{self.dir}/{name}.log", "a") as log:
            more = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log} | more
            process = subprocess.Popen([*self.ahead, "taskset", "-c", cpu, *command], **more)
        self.processes.append(process)
        return process

    def start(self, subject):
        subject.process = self.spawn(subject.name, PROXY_CPU, subject.command)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if subject.process.poll() is not None:
                raise Failure(f"{subject.name} ended at once: {self.last_words(subject.name)}")
            try:
                socket.create_connection(("127.0.0.1", subject.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise Failure(f"{subject.name} does not listen: {self.last_words(subject.name)}")

    def last_words(self, name):
        with open(f"{self.dir}/{name}.log") as file:
            return file.read()[-400:].strip()

    def stop(self, process):
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process in self.processes:
            self.processes.remove(process)

    def close(self):
        for process in list(self.processes):
            self.stop(process)
        if self.group is not None:
            with open("/proc/self/autogroup", "w") as file:
                file.write(self.group)

    def write(self, name, text):
        path = f"{self.dir}/{name}"
        with open(path, "w") as file:
            file.write(text)
        return path

    # Those that this machine and this build can run; the others with the reason.
    def subjects(self, nodes, other=None):
        ports = free_ports(10)
        found, absent = [], {}
        for name, text, program in (("nginx", NGINX, "nginx"), ("haproxy", HAPROXY, "haproxy")):
            port = ports.pop()
            path = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")
            if path is None:
                absent[name] = f"no program {program}"
                continue
            file = self.write(f"{name}.conf", text.format(dir=self.dir, port=port, nodes=nodes, files=19500,
                                                          connections=19000))
            command = ([path, "-e", f"{self.dir}/nginx-error.log", "-p", self.dir, "-c", file] if name == "nginx"
                       else [path, "-db", "-f", file])
            found.append(Subject(name, "peer", "epoll", command, port))
        relay = f"{self.binaries}/relay"
        for back_end in ("epoll", "uring"):
            port = ports.pop()
            name = f"relay-{back_end}"
            command = [relay, back_end, str(port), *map(str, nodes)]
            if runs_not(command):
                absent[name] = "no such back end here"
            else:
                found.append(Subject(name, "relay", back_end, command, port))
        for label, binary in (("steelyard", f"{self.binaries}/steelyard"), ("other", other)):
            if binary is None:
                continue
            for back_end in ("epoll", "uring"):
                name = f"{label}-{back_end}"
                flags = io_flags(binary, back_end)
                if flags is None:
                    absent[name] = "this build has no --io"
                    continue
                port, admin = free_ports(2)
                file = self.write(f"{name}.yaml", STEELYARD.format(port=port, admin=admin, nodes=nodes))
                found.append(Subject(name, "ours", back_end, [binary, "run", file, *flags], port))
        return found, absent


def runs_not(command):
    """Status 3 at once: the back end is not in the build."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return process.wait(0.5) == 3
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False


def io_flags(binary, back_end):
    if not os.access(binary, os.X_OK):
        raise Failure(f"no {binary}: ./dev bench proxy builds it")
    text = subprocess.run([binary, "run", "--help"], capture_output=True, text=True).stdout
    # In one process: what is measured is the process that was started.
    single = ["--single"] if "--single" in text else []
    if "--io" in text:
        return [*single, "--io", back_end]
    return single if back_end == "epoll" else None
