"""The exact numbers of the request path, against their limits: what a busy machine cannot blur, so that CI may stop a change.

  allocations   of the worker per request after warm-up: none
  copies        bytes that the worker copies by memcpy and memmove per request: at most the heads and 2 KiB
  instructions  user instructions of the worker per request with epoll and one connection, by callgrind: at most 2 % above the
                figure in bench/ratchet.json; --update writes what was measured there
  calls         system calls per request, 64 connections, epoll: at most 4.2
  entries       submissions to the io_uring per request: at most 4.2
  enters        of the io_uring per request: at most 0.1 with 512 connections (where these saturate it), 4.2 with one

Exit status: 0 all within their limits, 1 not, 2 nothing was measured.
"""

import argparse
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import readings  # noqa: E402
from report import print_table  # noqa: E402
from scenarios import SCENARIOS  # noqa: E402
from subjects import Bench, Failure, STEELYARD, Subject, free_ports, io_flags  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RATCHET = f"{ROOT}/bench/ratchet.json"
SLACK = 1.02
SLOTS = 128          # of count.cc
OF_TIME = 2          # allocations in a run
TRIES = 5
REQUEST_HEAD = 200   # bytes at least of the heads that a request and its answer have, beyond a scenario's own fields


class Gate:
    def __init__(self, args, bench, far):
        self.args, self.bench, self.far = args, bench, far
        self.rows = []
        self.measured = {}

    def check(self, name, measured, limit, digits=2):
        good = measured <= limit
        self.measured[name] = measured
        self.rows.append([name, f"{measured:.{digits}f}", f"{limit:.{digits}f}", "ok" if good else "TOO MUCH"])

    def start(self, name, back_end, before=()):
        binary = f"{self.args.binaries}/steelyard"
        flags = io_flags(binary, back_end)
        if flags is None:
            return None
        port, admin = free_ports(2)
        file = self.bench.write(f"{name}.yaml", STEELYARD.format(port=port, admin=admin, nodes=self.far.nodes))
        subject = Subject(name, "ours", back_end, [*before, binary, "run", file, *flags], port)
        self.bench.start(subject)
        return subject

    def load(self, subject, key, requests, connections=None):
        scenario = SCENARIOS[key]
        fields = self.bench.write("fields", scenario.fields)
        words = scenario.words(fields)
        if connections:
            words = re.sub(r"connections=\d+", f"connections={connections}", words)
        out = self.far.ask(f"run port={subject.port} seconds=40 requests={requests} {words}")
        if out["errors"] or out["answers"] < requests:
            raise Failure(f"{subject.name}, load {key}: {out['errors']} errors, {out['answers']} of {requests} answers")
        return out

    def allocations_and_copies(self, back_end):
        counts = f"{self.bench.dir}/counts-{back_end}"
        with open(counts, "wb") as file:
            file.write(bytes(SLOTS * 32))
        subject = self.start(f"counted-{back_end}", back_end,
                             ["env", f"LD_PRELOAD={self.args.binaries}/libcount.so", f"STEELYARD_COUNTS={counts}"])
        if subject is None:
            return
        # Connections may allocate: a long and a short run open the same number, and their difference is the requests'.
        for key, few, many in (("a", 500, 20500), ("b", 500, 5500), ("c", 500, 5500), ("i", 500, 5500), ("d", 50, 250)):
            scenario = SCENARIOS[key]
            for _ in range(3):  # warm-up
                self.load(subject, key, many // 2)
            # Pools may still grow when more requests than ever meet: what every try shows is the requests', but for a few
            # allocations that time brings, not requests.
            allocations = copied = None
            for _ in range(3):
                before = worker_counts(counts, subject)
                self.load(subject, key, few)
                between = worker_counts(counts, subject)
                self.load(subject, key, many)
                after = worker_counts(counts, subject)
                found, copied = ((c - b) - (b - a) for a, b, c in zip(before, between, after))
                found = max(0, found - OF_TIME)
                allocations = found if allocations is None else min(allocations, found)
                if allocations == 0:
                    break
            self.check(f"{back_end}: allocations per request, {scenario.title}", allocations / (many - few), 0, 4)
            self.check(f"{back_end}: bytes copied per request, {scenario.title}", copied / (many - few),
                       2048 + REQUEST_HEAD + len(scenario.fields), 0)
        self.bench.stop(subject.process)

    def instructions(self):
        out = f"{self.bench.dir}/callgrind"
        subject = self.start("instructions", "epoll",
                             ["valgrind", "--tool=callgrind", "--separate-threads=yes", "--trace-children=yes",
                              f"--callgrind-out-file={out}.%p"])
        pid, thread = worker_of(subject)
        self.load(subject, "a", 500, connections=1)
        control("-z", pid)
        requests = 3000
        self.load(subject, "a", requests, connections=1)
        control("-d", pid)
        total = dumped(out, pid)
        if self.args.keep:
            for file in glob.glob(f"{out}.{pid}.*"):
                shutil.copy(file, self.args.keep)
        each = total / requests
        try:
            with open(RATCHET) as file:
                limit = json.load(file)["instructions_per_request"] * SLACK
        except OSError:
            limit = 0
        if self.args.update:
            with open(RATCHET, "w") as file:
                json.dump({"instructions_per_request": round(each)}, file, indent=2)
                file.write("\n")
            limit = each
        self.check("epoll: user instructions per request, 64 B, one conn", each, limit, 0)
        self.bench.stop(subject.process)

    def calls(self):
        tracepoints = readings.has_tracepoints()
        for back_end in ("epoll", "uring"):
            subject = self.start(f"calls-{back_end}", back_end)
            if subject is None:
                self.rows.append([f"{back_end}: submissions and enters", "-", "-", "absent: this build has no --io"])
                continue
            # Others on the processor cut turns short, which adds calls: the least of some tries is the program's.
            def count(key, what, limit):
                self.load(subject, key, 500)
                best = None
                for _ in range(TRIES):
                    one = readings.count_calls(self.far, subject, SCENARIOS[key], "", 1, tracepoints, self.bench.dir)
                    if best is None or one[what] < best[what]:
                        best = one
                    if best[what] <= limit:
                        break
                return best
            if back_end == "epoll":
                self.check("epoll: system calls per request, 64 conns", count("a", "calls", 4.2)["calls"], 4.2)
            else:
                many, one = count("m", "enters", 0.1), count("1", "enters", 4.2)
                self.check("uring: submissions per request, 512 conns", many["submissions"], 4.2)
                self.check("uring: submissions per request, one conn", one["submissions"], 4.2)
                if many["enters"] > 0.1 and many["busy"] < readings.LEAST_BUSY:
                    self.rows.append(["uring: enters per request, 512 conns", f"{many['enters']:.2f}", "0.10",
                                      f"absent: processor 0 was {many['busy']:.0%} busy, so the load was the limit"])
                else:
                    self.check("uring: enters per request, 512 conns", many["enters"], 0.1)
                self.check("uring: enters per request, one conn", one["enters"], 4.2)
            self.bench.stop(subject.process)


def worker_of(subject):
    """The process and thread that moves the traffic."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for pid in readings.children(subject.process.pid):
            for path in glob.glob(f"/proc/{pid}/task/*/comm"):
                try:
                    with open(path) as file:
                        if file.read().startswith("worker"):
                            return pid, int(path.split("/")[4])
                except OSError:
                    continue
        time.sleep(0.05)
    raise Failure(f"{subject.name} has no worker thread")


def worker_counts(path, subject):
    """Allocations and bytes copied so far."""
    thread = worker_of(subject)[1]
    with open(path, "rb") as file:
        data = file.read()
    for at in range(32, len(data), 32):
        found, allocations, copied, _ = struct.unpack_from("4Q", data, at)
        if found == thread:
            return allocations, copied
    raise Failure("the worker's counts are missing: was the library preloaded?")


def control(flag, pid):
    done = subprocess.run(["callgrind_control", flag, str(pid)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"callgrind_control {flag}: {done.stdout}{done.stderr}")


def dumped(out, pid):
    """Instructions of the busiest thread in the dump just asked for."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        totals = []
        for path in glob.glob(f"{out}.{pid}.*"):
            with open(path) as file:
                found = re.findall(r"^totals: (\d+)", file.read(), re.M)
            totals.append(int(found[-1]) if found else 0)
        if totals and all(totals):
            return max(totals)
        time.sleep(0.1)
    raise Failure("callgrind wrote no totals")


def main():
    ask = argparse.ArgumentParser(prog="./dev bench gate", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--update", action="store_true", help="write the instructions measured to bench/ratchet.json")
    ask.add_argument("--json", metavar="FILE", help="write the figures there")
    ask.add_argument("--keep", metavar="FOLDER", help="copy callgrind's files there")
    ask.add_argument("--binaries", default=f"{ROOT}/build/bench", help=argparse.SUPPRESS)
    args = ask.parse_args()
    folder = tempfile.mkdtemp(prefix="steelyard-gate-")
    bench = Bench(folder, args.binaries)
    try:
        gate = Gate(args, bench, readings.Far(bench, f"{args.binaries}/far"))
        gate.instructions()
        gate.calls()
        for back_end in ("epoll", "uring"):
            gate.allocations_and_copies(back_end)
    except Failure as failure:
        print(f"gate: {failure}", file=sys.stderr)
        return 2
    finally:
        bench.close()
        shutil.rmtree(folder, ignore_errors=True)
    print_table(["", "measured", "limit", ""], gate.rows)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(gate.measured, file, indent=2)
    return 0 if all(r[-1] == "ok" or r[-1].startswith("absent") for r in gate.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
