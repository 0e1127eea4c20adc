"""The measurements: each runs a load through a subject and gives a dictionary."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

from subjects import FAR_CPU, Failure

MOST_FOREIGN = 0.12   # of processor 0, used by others: the run is void
LEAST_BUSY = 0.95     # of processor 0, at saturation: below it the load was the limit
RETRIES = 2           # of a void run, at once


class Far:
    """The process with clients and nodes (far.cc)."""

    def __init__(self, bench, binary):
        self.process = bench.spawn("far", FAR_CPU, [binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.nodes = self.answer()["nodes"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failure("the far side ended (is io_uring allowed here?)")
        return json.loads(line)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        out = self.answer()
        if "error" in out:
            raise Failure(f"far side: {out['error']} ({command})")
        return out


def children(pid):
    """The process and its descendants."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parents.setdefault(int(file.read().rsplit(")", 1)[1].split()[1]), []).append(int(entry))
            except OSError:
                pass
    out = [pid]
    for one in out:
        out += parents.get(one, [])
    return out


def check_answer(scenario, port):
    """Asks once with plain sockets and looks at every byte."""
    head = f"{'POST' if scenario.post else 'GET'} {scenario.path} HTTP/1.1\r\nHost: bench.example\r\n{scenario.fields}"
    head += f"Content-Length: {scenario.post}\r\n" if scenario.post else ""
    head += "Connection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(head.encode() + b"p" * scenario.post)
        data = b""
        while part := client.recv(1 << 20):
            data += part
    answer, _, body = data.partition(b"\r\n\r\n")
    if not answer.startswith(b"HTTP/1.1 200 ") or body != b"x" * scenario.expect:
        raise Failure(f"wrong answer through port {port}: {len(body)} bytes after {answer[:200]!r}")


def load(far, subject, scenario, fields_file, seconds, rate=0):
    """One run; `void` says why it does not count."""
    command = f"run port={subject.port} watch={subject.process.pid} seconds={seconds} {scenario.words(fields_file)}"
    if rate:
        command += f" rate={rate:.0f}"
    for attempt in range(RETRIES + 1):
        out = far.ask(command)
        out["void"] = None
        if out["errors"]:
            out["void"] = f"{out['errors']} errors"
            return out
        if not out["requests"]:
            out["void"] = "no answers"
        elif out["foreign"] > MOST_FOREIGN:
            out["void"] = f"others used {out['foreign']:.0%} of processor 0"
        elif rate == 0 and scenario.saturates and out["busy"] < LEAST_BUSY:
            out["void"] = f"busy {out['busy']:.0%}, far side {out['far_busy']:.0%}"
        elif rate and out["rps"] < 0.97 * rate:
            out["void"] = f"gave {out['rps'] / rate:.0%} of the offered rate"
        if out["void"] is None or (rate == 0 and out["void"].startswith("busy") and attempt):
            break
    return out


def direct(far, port, scenario, fields_file, seconds, rate):
    """The same load on a node itself: what of a latency is not the proxy's."""
    return far.ask(f"run port={port} seconds={seconds} {scenario.words(fields_file)} rate={rate:.0f}")


def submissions(pids):
    """Entries submitted so far to each io_uring of processes, modulo 2^32: by process and descriptor."""
    out = {}
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for name in names:
            try:
                if "io_uring" not in os.readlink(f"/proc/{pid}/fd/{name}"):
                    continue
            except OSError:
                continue
            for _ in range(10000):  # the kernel leaves the numbers out while the ring is in use
                with open(f"/proc/{pid}/fdinfo/{name}") as file:
                    found = re.search(r"^SqTail:\s*(\d+)", file.read(), re.M)
                if found:
                    out[pid, name] = int(found[1])
                    break
            else:
                raise Failure(f"the kernel does not tell what process {pid} submitted")
    return out


def has_tracepoints():
    if shutil.which("perf") is None:
        return False
    probe = subprocess.run(["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter", "--", "true"],
                           capture_output=True, text=True)
    return probe.returncode == 0 and re.search(r"^\d+,", probe.stderr, re.M) is not None


def count_calls(far, subject, scenario, fields_file, seconds, tracepoints, folder):
    """System calls per request, the enters among them, and submissions. Tracepoints cost the subject little; strace stops
    it at each call, and then few answers keep the far side from being the limit."""
    pids = children(subject.process.pid)
    if tracepoints:
        command = ["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter,syscalls:sys_enter_io_uring_enter"]
    else:
        command = ["strace", "-f", "-c", "-q", "-o", f"{folder}/calls"]
    for pid in pids:
        command += ["-p", str(pid)] if not tracepoints else []
    if tracepoints:
        command += ["-p", ",".join(map(str, pids))]
    counter = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(0.7)
    before = submissions(pids)
    out = far.ask(f"run port={subject.port} watch={subject.process.pid} seconds={seconds} {scenario.words(fields_file)}")
    entries = sum((tail - before.get(ring, 0)) % (1 << 32) for ring, tail in submissions(pids).items())
    counter.send_signal(signal.SIGINT)
    text = counter.communicate(timeout=20)[1]
    answers = max(out["answers"], 1)
    calls = enters = 0
    if tracepoints:
        for line in text.splitlines():
            cells = line.split(",")
            if len(cells) > 2 and cells[0].isdigit():
                if "io_uring_enter" in cells[2]:
                    enters = int(cells[0])
                else:
                    calls = int(cells[0])
    else:
        with open(f"{folder}/calls") as file:
            for line in file:
                cells = line.split()
                if len(cells) >= 5 and cells[3].isdigit() and cells[-1] != "total":
                    calls += int(cells[3])
                    enters += int(cells[3]) if cells[-1] == "io_uring_enter" else 0
    return {"calls": calls / answers, "enters": enters / answers, "submissions": entries / answers, "busy": out["busy"]}


def memory_of(pids):
    """Resident KiB."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/status") as file:
                found = re.search(r"^VmRSS:\s*(\d+)", file.read(), re.M)
        except OSError:
            continue
        total += int(found[1]) if found else 0
    return total


def idle_memory(bench, far, subject, connections):
    """Resident bytes a connection that has asked once and now is idle, in a process that has served a few before."""
    bench.stop(subject.process)
    bench.start(subject)
    far.ask(f"run port={subject.port} seconds=0.3 connections=64")
    time.sleep(0.3)
    before = memory_of(children(subject.process.pid))
    held = far.ask(f"hold port={subject.port} connections={connections}")
    time.sleep(0.5)
    after = memory_of(children(subject.process.pid))
    far.ask("release")
    if held["errors"] or held["held"] != connections:
        raise Failure(f"{subject.name} held {held['held']} of {connections} connections")
    return {"before_kib": before, "after_kib": after, "bytes_each": (after - before) * 1024 / connections}
