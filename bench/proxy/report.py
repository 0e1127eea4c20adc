"""The table of a run, and which goals were met."""

import statistics

from scenarios import GOALS, SCENARIOS


def median(numbers):
    return statistics.median(numbers) if numbers else None


def runs(results, key, reading, name):
    return results.get(key, {}).get(reading, {}).get(name, [])


def values(results, key, reading, name, what, void=False):
    return [r[what] for r in runs(results, key, reading, name) if void or r.get("void") is None]


def ratios(results, key, reading, name, base, what="cpu_us"):
    """Of the rounds in which both counted."""
    pairs = zip(runs(results, key, reading, name), runs(results, key, reading, base))
    return [a[what] / b[what] for a, b in pairs if a["void"] is None and b["void"] is None and b[what] > 0]


def better_peer(out, key, reading, what="cpu_us"):
    found = {name: median(values(out["results"], key, reading, name, what))
             for name, s in out["subjects"].items() if s["kind"] == "peer"}
    found = {name: value for name, value in found.items() if value}
    return min(found, key=found.get) if found else None


def processor():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return "unknown"


def congestion():
    with open("/proc/sys/net/ipv4/tcp_congestion_control") as file:
        return file.read().strip()


def headline(machine):
    return (f"{machine['date']}  kernel {machine['kernel']}  {machine['processor']}  TCP {machine['congestion']}  load "
            f"{machine['load']:.1f}  a system call {machine['getppid_ns'] / 1000:.2f} µs (getppid; ratios depend on it)")


def cell(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def row(out, key, reading, name):
    results, subject = out["results"], out["subjects"][name]
    def mid(what, void=False):
        return median(values(results, key, reading, name, what, void))
    all_runs = runs(results, key, reading, name)
    valid = [r for r in all_runs if r["void"] is None]
    shown = not valid  # void runs are shown, in brackets, and not compared
    peer = better_peer(out, key, reading)
    relay = f"relay-{subject['back_end']}"
    calls = results[key].get("calls", {}).get(name, {}) if reading == "saturation" else {}
    cells = [key, reading, name]
    for what, digits in (("cpu_us", 2), ("user_us", 2), ("system_us", 2), ("rps", 0), ("p50_us", 0), ("p99_us", 0)):
        text = cell(mid(what, shown), digits)
        cells.append(f"({text})" if shown and what == "cpu_us" else text)
    busy = mid("busy", shown)
    cells.append("-" if busy is None else f"{busy:.0%}")
    direct = {w: median([r[w] for r in runs(results, key, reading, "direct")]) for w in ("p50_us", "p99_us")}
    for what in ("p50_us", "p99_us"):
        here = mid(what, shown)
        cells.append(cell(here - direct[what], 0) if direct[what] is not None and here is not None else "-")
    for what in ("calls", "enters", "submissions"):
        cells.append(cell(calls.get(what)) if what == "calls" or subject["back_end"] == "uring" else "-")
    cells.append(cell(median(ratios(results, key, reading, name, peer)) if peer else None))
    cells.append(cell(median(ratios(results, key, reading, name, relay)) if relay in out["subjects"] else None))
    cells.append(f"{len(valid)}/{len(all_runs)}")
    reasons = sorted({r["void"] for r in all_runs if r["void"]})
    cells.append(f"void: {reasons[0]}" if reasons else "")
    return cells


HEAD = ["", "reading", "proxy", "µs/req", "user", "system", "req/s", "P50", "P99", "busy", "+P50", "+P99", "calls", "enters",
        "entries", "/peer", "/relay", "rounds", ""]


def print_table(head, rows):
    widths = [max(len(str(r[i])) for r in [head, *rows]) for i in range(len(head))]
    for line in [head, *rows]:
        cells = [c.ljust(w) if i < 3 or i == len(head) - 1 else c.rjust(w) for i, (c, w) in enumerate(zip(map(str, line), widths))]
        print("  ".join(cells).rstrip())


def goal_rows(out):
    """Rows of (goal, reading, must, aim, measured, verdict), and whether all were met."""
    rows, met = [], True
    for back_end, goals in GOALS.items():
        ours = f"steelyard-{back_end}"
        for key, (must, aim) in goals.items():
            scenario, what = ("a", "user_us") if key == "user" else (key, "cpu_us")
            title = "user part of 64 B" if key == "user" else SCENARIOS[key].title
            if scenario not in out["results"]:
                continue
            if ours not in out["subjects"]:
                why = out["absent"].get(ours, "not asked for")
                rows.append([back_end, title, "-", cell(must), cell(aim), "-", f"no verdict: {why}"])
                met = False
                continue
            for reading in out["results"].get(scenario, {}):
                if reading == "calls":
                    continue
                peer = better_peer(out, scenario, reading, what)
                got = ratios(out["results"], scenario, reading, ours, peer, what) if peer else []
                value = median(got)
                if value is None or len(got) < 3:
                    verdict = f"no verdict: {len(got)} valid rounds"
                    met = False
                elif value > must:
                    verdict = f"missed by {value - must:.2f}"
                    met = False
                elif aim is not None and value > aim:
                    verdict = f"met; {value - aim:.2f} above the aim"
                else:
                    verdict = "met" + ("" if aim is None else ", and the aim")
                rows.append([back_end, title, reading, cell(must), cell(aim), cell(value), verdict])
    return rows, met


def show(out):
    print(headline(out["machine"]))
    for name, why in out["absent"].items():
        print(f"absent: {name}: {why}")
    rows = [row(out, key, reading, name) for key, by in out["results"].items() for reading in by if reading != "calls"
            for name in by[reading] if name != "direct"]
    if rows:
        print(f"\nCPU time per request, medians of {out['rounds']} rounds of {out['seconds']:g} s. (In brackets): all runs void. "
              f"+P50, +P99: beyond a load without proxy.\n/peer: to the better of Nginx and HAProxy; /relay: to the bare relay "
              f"of the same back end. Calls, enters and entries (submissions) per request by {out['counted_by']}.\n"
              + "  ".join(f"{k}: {SCENARIOS[k].title}" for k in out["results"]) + "\n")
        print_table(HEAD, rows)
    if out["idle"]:
        print("\nResident memory with 5,000 idle client connections\n")
        print_table(["", "", "proxy", "before KiB", "after KiB", "bytes each", ""],
                    [["", "", n, m["before_kib"], m["after_kib"], f"{m['bytes_each']:.0f}", ""] for n, m in out["idle"].items()])
    rows, met = goal_rows(out)
    if rows:
        print("\nGoals: CPU time relative to the better peer\n")
        print_table(["", "load", "reading", "must", "aim", "measured", "verdict"], rows)
    return 0 if met else 1
