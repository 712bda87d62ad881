# SPDX-License-Identifier: MIT
"""From rounds to verdicts, and the table that people read."""

import figures
import probe


def totals(errors_of_rounds):
    total = {}
    for errors in errors_of_rounds:
        for kind, count in errors.items():
            total[kind] = total.get(kind, 0) + count
    return total


def client_us(results):
    return figures.median([r["client_ns"] / 1000 / r["requests"] for r in results if r["requests"] and "client_ns" in r])


def median_of(results, key):
    return figures.median([r[key] for r in results if r.get(key) is not None])


def server_summary(entrant, results, octets):
    rounds = [result["figure"] for result in results]
    return {
        "name": entrant.name, "kind": entrant.kind, "answer_octets": octets,
        "median": figures.median([figure for figure in rounds if figure is not None]), "rounds": rounds,
        "client_us": client_us(results), "per_second": median_of(results, "per_second"),
        "p50_ms": median_of(results, "p50_ms"), "p99_ms": median_of(results, "p99_ms"),
        "errors": totals(result["errors"] for result in results),
    }


def unit_of(workload):
    if workload.client == "idle":
        return "octets per connection"
    return "ms until 99 % were answered" if workload.is_open else "µs of server CPU per request"


def workload_summary(workload, crowd, results, octets, skipped):
    servers = [server_summary(entrant, results[entrant.name], octets[entrant.name])
               for entrant in crowd if entrant.name in results]
    summary = {
        "name": workload.name, "title": workload.title, "skipped": skipped, "servers": servers,
        "unit": unit_of(workload),
        "targets": {"ratio": workload.ratio_target, "below": workload.below, "no_errors": workload.no_errors,
                    "peer_ratio": workload.peer_ratio},
    }
    summary["ceiling"] = ceiling_of(summary)
    add_ratios(summary)
    return summary


def ceiling_of(summary):
    """The name of the cheapest ceiling: the best that this kernel lets anyone do. Memory has none: it is nothing."""
    if summary["unit"].startswith("octets"):
        return None
    ceilings = [s for s in summary["servers"] if s["kind"] == "ceiling" and s["median"]]
    return min(ceilings, key=lambda s: s["median"])["name"] if ceilings else None


def find(summary, name):
    return next((s for s in summary["servers"] if s["name"] == name), None)


def add_ratios(summary):
    """Each server against the ceiling, round by round."""
    ceiling = find(summary, summary["ceiling"]) if summary["ceiling"] else None
    for server in summary["servers"]:
        server["to_ceiling"] = figures.compare(server["rounds"], ceiling["rounds"]) if ceiling else None


# ---- Verdicts ----


def validating(outcome, name):
    return len(outcome["refused"].get(name, [])) >= probe.VALIDATING_MIN


def rivals(outcome, summary):
    which = summary["targets"]["below"]
    return [s for s in summary["servers"]
            if s["kind"] == "peer" and s["median"] and (which == "every" or validating(outcome, s["name"]))]


def judge_workload(outcome, summary):
    """Skua's targets here: what is asked, what was found, the verdict."""
    verdicts = []
    skua = next((s for s in summary["servers"] if s["kind"] == "skua"), None)
    targets = summary["targets"]
    if not skua or not skua["median"]:
        return verdicts
    if targets["ratio"]:
        verdicts.append({"asked": f"≤ {targets['ratio']:.2f} × the ceiling", "found": skua["to_ceiling"],
                         "verdict": figures.judge(skua["to_ceiling"], targets["ratio"])})
    if targets["below"]:
        for peer in rivals(outcome, summary):
            found = figures.compare(skua["rounds"], peer["rounds"])
            verdicts.append({"asked": f"below {peer['name']}", "found": found, "verdict": figures.judge(found, 1.0)})
    if targets["peer_ratio"]:
        best = min((s for s in summary["servers"] if s["kind"] == "peer" and s["median"]), key=lambda s: s["median"], default=None)
        found = figures.compare(skua["rounds"], best["rounds"]) if best else None
        verdicts.append({"asked": f"≤ {targets['peer_ratio']:.2f} × the best peer" + (f", {best['name']}" if best else ""),
                         "found": found, "verdict": figures.judge(found, targets["peer_ratio"])})
    if targets["no_errors"]:
        count = sum(skua["errors"].values())
        verdicts.append({"asked": "no errors", "found": None, "verdict": "met" if count == 0 else f"missed: {count} errors"})
    return verdicts


def judge_all(outcome):
    for summary in outcome["workloads"]:
        summary["verdicts"] = judge_workload(outcome, summary)


# ---- The table ----


def number(value, digits=2):
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.{digits}f}"


def ratio_text(comparison):
    if comparison is None:
        return "–"
    return f"{comparison['ratio']:.2f} ({comparison['low']:.2f}–{comparison['high']:.2f})"


def errors_text(errors):
    return ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in errors.items()) or "0"


def server_row(summary, server):
    name = server["name"] + (" ◂" if server["name"] == summary["ceiling"] else "")
    return [name, number(server["median"]), ratio_text(server["to_ceiling"]), number(server["client_us"]),
            number(server["per_second"], 0), number(server["p99_ms"]), str(server["answer_octets"]), errors_text(server["errors"])]


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join([" --- "] + [" ---: "] * (len(head) - 1)) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def workload_section(summary):
    lines = ["", f"## {summary['title']} (`{summary['name']}`)", ""]
    rows = [server_row(summary, server) for server in sorted(summary["servers"], key=lambda s: s["median"] or float("inf"))]
    lines += markdown(["server", summary["unit"], "to the ceiling", "client µs", "requests/s", "p99 ms", "octets", "errors"], rows)
    lines += [""] * bool(summary.get("verdicts"))
    lines += [f"- {v['asked']}: {ratio_text(v['found']) + ', ' if v['found'] else ''}**{v['verdict']}**"
              for v in summary.get("verdicts", [])]
    lines += [f"- {name} left out: {why}" for name, why in summary["skipped"].items()]
    return lines


def machine_text(outcome):
    here = outcome["machine"]
    return (f"{here['processor']}, server and client on one core each of {here['cores']}, Linux {here['kernel']}, "
            f"{here['congestion_control']}, {here['date']}")


def table(outcome):
    rounds = outcome["rounds"]
    lines = ["# Skua beside its ceilings and peers", "", machine_text(outcome) + ".", ""]
    lines += [f"{rounds} interleaved rounds of {outcome['seconds']} s. Medians; in brackets the "
              + ("95 % interval of the median of the paired ratios." if figures.order_rank(rounds)
                 else "smallest and largest of the paired ratios (too few rounds for an interval).")]
    for summary in outcome["workloads"]:
        lines += workload_section(summary)
    lines += ["", "## Malformed requests refused", ""]
    lines += markdown(["server", f"of {len(outcome['malformed'])}", "let through"],
                      [[name, str(len(refused)), ", ".join(k for k in outcome["malformed"] if k not in refused) or "none"]
                       for name, refused in outcome["refused"].items()])
    lines += ["", "Versions: " + "; ".join(f"{name}: {text}" for name, text in outcome["machine"]["versions"].items()) + ".", ""]
    return "\n".join(lines)
