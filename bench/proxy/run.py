"""Steelyard beside Debian's Nginx and HAProxy and beside a bare relay: CPU time per request.

Each proxy has one worker and processor 0 to itself; clients and nodes (three ports) are one process on processor 1. A round
runs the load through each proxy, in changing order; what counts is the median over the rounds of the ratio of two CPU times
within a round, since a machine drifts between fast and slow phases. Two readings:

  saturation  closed loop; a run in which the proxy was less than 95 % busy is void (not for one connection)
  rate        open loop at 40 %, 50 % and 80 % of what the slower peer gave at saturation: fixed times, no coordinated omission

A run in which others used more than 12 % of processor 0 is void too. Void runs are repeated twice, then left out.
Exit status: 0 all goals met, 1 some missed or no verdict, 2 nothing was measured.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import readings  # noqa: E402
import report  # noqa: E402
from scenarios import SCENARIOS  # noqa: E402
from subjects import Bench, Failure  # noqa: E402

RATES = (0.4, 0.5, 0.8)


def arguments():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    ask = argparse.ArgumentParser(prog="./dev bench proxy", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    keys = ", ".join(f"{s.key} ({s.title})" for s in SCENARIOS.values())
    ask.add_argument("--scenario", metavar="KEYS", help=f"of {keys}, idle; comma between; default all")
    ask.add_argument("--only", metavar="NAMES", help="of nginx, haproxy, relay-epoll, relay-uring, steelyard-epoll, "
                                                     "steelyard-uring; default all")
    ask.add_argument("--reading", choices=("saturation", "rate", "both"), default="both")
    ask.add_argument("--rounds", type=int, default=9)
    ask.add_argument("--seconds", type=float, default=1.0, help="of a run; default 1")
    ask.add_argument("--no-calls", action="store_true", help="do not count system calls")
    ask.add_argument("--json", metavar="FILE", help="write all runs there, and read nothing")
    ask.add_argument("--show", metavar="FILE", help="print the table of a file that --json wrote")
    ask.add_argument("--binaries", default=f"{root}/build/bench", help=argparse.SUPPRESS)
    ask.add_argument("--other", metavar="PATH", help="a second steelyard, to compare two builds")
    return ask.parse_args()


def note(text):
    print(text, file=sys.stderr, flush=True)


class Run:
    def __init__(self, args, bench, far, subjects):
        self.args, self.bench, self.far, self.subjects = args, bench, far, subjects
        self.results = {}  # scenario -> reading -> subject -> list over rounds
        self.files = {}

    def fields_file(self, scenario):
        if scenario.fields and scenario.key not in self.files:
            self.files[scenario.key] = self.bench.write(f"fields-{scenario.key}", scenario.fields)
        return self.files.get(scenario.key, "")

    def here(self, scenario):
        return [s for s in self.subjects if scenario.relay or s.kind != "relay"]

    def rounds(self, scenario, reading, rate=0):
        subjects = self.here(scenario)
        table = self.results.setdefault(scenario.key, {}).setdefault(reading, {s.name: [] for s in subjects})
        for number in range(self.args.rounds):
            turn = number % len(subjects)
            line = []
            for subject in subjects[turn:] + subjects[:turn]:
                out = readings.load(self.far, subject, scenario, self.fields_file(scenario), self.args.seconds, rate)
                table[subject.name].append(out)
                line.append(f"{subject.name} {out['cpu_us']:.2f}" + (f" ({out['void']})" if out["void"] else ""))
            if rate:
                table.setdefault("direct", []).append(readings.direct(
                    self.far, self.far.nodes[0], scenario, self.fields_file(scenario), self.args.seconds, rate))
            note(f"{scenario.key} {reading} {number + 1}/{self.args.rounds}: " + ", ".join(line))

    def scenario(self, scenario, tracepoints):
        for subject in self.here(scenario):
            readings.check_answer(scenario, subject.port)
            self.far.ask(f"run port={subject.port} seconds=0.3 {scenario.words(self.fields_file(scenario))}")
        self.rounds(scenario, "saturation")
        if not self.args.no_calls:
            calls = self.results[scenario.key].setdefault("calls", {})
            for subject in self.here(scenario):
                calls[subject.name] = readings.count_calls(self.far, subject, scenario, self.fields_file(scenario), 0.5,
                                                           tracepoints, self.bench.dir)
        if self.args.reading == "saturation" or not scenario.saturates:
            return
        peers = [s.name for s in self.subjects if s.kind == "peer"]
        peak = min((report.median(report.values(self.results, scenario.key, "saturation", name, "rps", void=True))
                    for name in peers), default=None)
        if peak is None:
            note(f"{scenario.key}: no peer, so no rate to offer")
            return
        for share in RATES:
            self.rounds(scenario, f"{share:.0%}", share * peak)


def measure(args):
    if os.cpu_count() < 2:
        raise Failure("needs two processors")
    keys = args.scenario.split(",") if args.scenario else [*SCENARIOS, "idle"]
    for key in keys:
        if key not in SCENARIOS and key != "idle":
            raise Failure(f"no scenario {key!r}: one of {', '.join(SCENARIOS)}, idle")
    folder = tempfile.mkdtemp(prefix="steelyard-bench-")
    os.chmod(folder, 0o755)  # Nginx's worker may be another user
    bench = Bench(folder, args.binaries)
    try:
        far = readings.Far(bench, f"{args.binaries}/far")
        subjects, absent = bench.subjects(far.nodes, args.other)
        if args.only:
            wanted = args.only.split(",")
            for name in wanted:
                if name in absent:
                    raise Failure(f"{name}: {absent[name]}")
                if name not in [s.name for s in subjects]:
                    raise Failure(f"no subject {name!r}: one of {', '.join([s.name for s in subjects] + [*absent])}")
            subjects = [s for s in subjects if s.name in wanted]
            absent = {}
        for name, why in absent.items():
            note(f"absent: {name}: {why}")
        for subject in subjects:
            bench.start(subject)
        machine = {"kernel": platform.release(), "date": time.strftime("%F %T"), "load": os.getloadavg()[0],
                   "processor": report.processor(), "congestion": report.congestion(), **far.ask("price")}
        note(report.headline(machine))
        tracepoints = readings.has_tracepoints()
        run = Run(args, bench, far, subjects)
        out = {"machine": machine, "rounds": args.rounds, "seconds": args.seconds, "absent": absent,
               "subjects": {s.name: {"kind": s.kind, "back_end": s.back_end} for s in subjects},
               "counted_by": "perf" if tracepoints else "strace", "results": run.results, "idle": {}}
        for key in keys:
            if key in SCENARIOS:
                run.scenario(SCENARIOS[key], tracepoints)
            if args.json:
                with open(args.json, "w") as file:
                    json.dump(out, file)
        if "idle" in keys:
            for subject in subjects:
                out["idle"][subject.name] = readings.idle_memory(bench, far, subject, 5000)
        if args.json:
            with open(args.json, "w") as file:
                json.dump(out, file)
        return out
    finally:
        bench.close()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    args = arguments()
    try:
        if args.show:
            with open(args.show) as file:
                out = json.load(file)
        else:
            out = measure(args)
    except Failure as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 2
    return report.show(out)


if __name__ == "__main__":
    sys.exit(main())
