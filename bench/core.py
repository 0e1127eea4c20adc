"""What the core costs: heads parsed a second, nanoseconds a pick, a new table, a tick of the control loop.

Runs the micro benchmarks of bench/ and prints one table. CPU time, median of --repetitions.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Benchmark, and which of its rows; what each row is about.
PARTS = (
    ("http_bench", ".", "parser"),
    ("pick_bench", "^pick/.*/(10|10000)$", "a pick, nodes"),
    ("pick_bench", "^new_table/.*/(10|10000)$", "a new table taken, nodes"),
    ("control_bench", ".", "the control loop, 1,000 nodes"),
)
SCALE = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def run(binary, which, repetitions, seconds):
    done = subprocess.run([binary, f"--benchmark_filter={which}", "--benchmark_format=json",
                           f"--benchmark_repetitions={repetitions}", f"--benchmark_min_time={seconds}"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"core: {binary} failed: {done.stderr[-400:]}")
    runs = {}
    for row in json.loads(done.stdout)["benchmarks"]:
        if row["run_type"] == "iteration":
            runs.setdefault(row["run_name"], []).append(row)
    out = []
    for name, rows in runs.items():
        rates = [r["bytes_per_second"] for r in rows if "bytes_per_second" in r]
        out.append({"name": name, "ns": statistics.median(r["cpu_time"] * SCALE[r["time_unit"]] for r in rows),
                    "bytes_per_second": statistics.median(rates) if rates else None})
    return out


def main():
    ask = argparse.ArgumentParser(prog="./dev bench core", description=__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--repetitions", type=int, default=3)
    ask.add_argument("--seconds", type=float, default=0.1, help="of a repetition")
    ask.add_argument("--json", metavar="FILE", help="write the figures there")
    ask.add_argument("--binaries", default=f"{ROOT}/build/bench", help=argparse.SUPPRESS)
    args = ask.parse_args()
    out = []
    for name, which, about in PARTS:
        binary = f"{args.binaries}/{name}"
        if not os.access(binary, os.X_OK):
            print(f"\n{about}: absent, no {name} in this build")
            continue
        rows = run(binary, which, args.repetitions, args.seconds)
        if not rows:
            sys.exit(f"core: {name} has no rows {which}")
        print(f"\n{about}")
        for row in rows:
            rate = row["bytes_per_second"]
            print(f"  {row['name']:<44} {row['ns']:>14,.1f} ns" + (f" {rate / 1e6:>10,.0f} MB/s" if rate else ""))
        out += [row | {"about": about} for row in rows]
    if args.json:
        with open(args.json, "w") as file:
            json.dump(out, file, indent=2)


if __name__ == "__main__":
    main()
