# SPDX-License-Identifier: MIT
"""From rounds to verdicts, and the table that people read."""

import entrants
import figures


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


def server_summary(entrant, results, about):
    rounds = [result["figure"] for result in results]
    return {
        "name": entrant.name, "kind": entrant.kind, "library": getattr(entrant, "library", None), **about,
        "median": figures.median([figure for figure in rounds if figure is not None]), "rounds": rounds,
        "client_us": client_us(results), "per_second": median_of(results, "per_second"),
        "p50_ms": median_of(results, "p50_ms"), "p99_ms": median_of(results, "p99_ms"),
        "errors": totals(result["errors"] for result in results),
    }


def unit_of(workload):
    if workload.client == "idle":
        return "octets per connection"
    return "ms until 99 % were answered" if workload.is_open else "µs of server CPU per request"


def workload_summary(workload, crowd, results, about, skipped):
    """about: by name, the octets of an answer and the backend."""
    servers = [server_summary(entrant, results[entrant.name], about[entrant.name])
               for entrant in crowd if entrant.name in results]
    summary = {
        "name": workload.name, "title": workload.title, "skipped": skipped, "servers": servers,
        "unit": unit_of(workload),
        "targets": {"ratio": workload.ratio_target, "below_peers": workload.below_peers, "no_errors": workload.no_errors,
                    "peer_ratio": workload.peer_ratio, "ratios_to": workload.ratios_to, "ratios_with": workload.ratios_with, "octets": workload.octets_target},
    }
    compare_servers(summary, reference_kind(workload))
    summary["verdicts"] = judge_workload(summary)
    return summary


# ---- Against whom ----


def reference_kind(workload):
    """The figure that others are held against: CPU against the best that this kernel lets anyone do, an open loop's latency
    and a page's CPU against the best that anyone does, and memory against nothing."""
    if workload.client == "idle":
        return None
    return "ceiling" if workload.ceilings and not workload.is_open else "peer"


def of_kind(summary, kind):
    return [server for server in summary["servers"] if server["kind"] == kind]


def best(servers):
    """The one of the smallest median, or None. Who failed in some rounds comes behind all who were there in more:
    their medians are not of the same moments."""
    measured = [server for server in servers if server["median"]]
    return min(measured, key=lambda s: (sum(figure is None for figure in s["rounds"]), s["median"]), default=None)


def find(summary, name):
    return next((s for s in summary["servers"] if s["name"] == name), None)


def reference(summary):
    """The server that all are compared with, or None."""
    return find(summary, summary["reference"])


def compare_servers(summary, kind):
    """Each server round by round against everyone of the kind; "ratio" is that to the best of them, the reference."""
    against = of_kind(summary, kind)
    chosen = best(against)
    summary["reference_kind"] = kind
    summary["reference"] = chosen["name"] if chosen else None
    for server in summary["servers"]:
        server["ratios"] = {other["name"]: figures.compare(server["rounds"], other["rounds"]) for other in against}
        server["ratio"] = server["ratios"].get(summary["reference"])


# ---- Verdicts ----


def judge_beside(summary, server, ratios):
    """ratios: at most, to peers by the beginnings of their names. Over HTTP/1 only the same Skua is beside it."""
    twin = entrants.over_http1(server["name"])
    others = [peer for peer in of_kind(summary, "peer") if not peer["name"].startswith("Skua over HTTP/1") or peer["name"] == twin]
    for peer in others:
        target = next((ratio for name, ratio in ratios.items() if peer["name"].startswith(name)), None)
        found = figures.compare(server["rounds"], peer["rounds"]) if target else None
        if found:
            yield f"≤ {target:.2f} × {peer['name']}", found, figures.judge(found, target)


def judge_server(summary, server):
    """A Skua's targets here: what is asked, what was found, the verdict."""
    targets = summary["targets"]
    if server["kind"] == "library":
        yield from judge_beside(summary, server, targets["ratios_with"].get(server["library"], {}))
        return
    named = f", {summary['reference']}" if summary["reference"] else ""
    if targets["ratio"]:
        yield f"≤ {targets['ratio']:.2f} × the ceiling", server["ratio"], figures.judge(server["ratio"], targets["ratio"])
    if targets["below_peers"]:
        for peer in of_kind(summary, "peer"):
            found = figures.compare(server["rounds"], peer["rounds"])
            if found:
                yield f"below {peer['name']}", found, figures.judge(found, 1.0)
    yield from judge_beside(summary, server, targets["ratios_to"])
    if targets["octets"]:
        yield f"≤ {targets['octets']:.0f} octets", None, "met" if server["median"] <= targets["octets"] else "missed"
    if targets["peer_ratio"]:
        yield (f"≤ {targets['peer_ratio']:.2f} × the best peer{named}", server["ratio"],
               figures.judge(server["ratio"], targets["peer_ratio"]))
    if targets["no_errors"]:
        count = sum(server["errors"].values())
        yield "no errors", None, "met" if count == 0 else f"missed: {count} errors"


def judge_workload(summary):
    """On the backend that it prefers, and on each other that was asked for."""
    return [{"server": server["name"], "asked": asked, "found": found, "verdict": verdict}
            for server in of_kind(summary, "skua") + of_kind(summary, "backend") + of_kind(summary, "library") if server["median"]
            for asked, found, verdict in judge_server(summary, server)]


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


# The columns that tell something, by what is compared.
COLUMNS = {
    "ceiling": ["to the ceiling", "client µs", "requests/s", "p99 ms"],
    "peer": ["to the best peer", "p50 ms", "requests/s"],
    None: [],
}


def server_cells(server):
    return {
        "to the ceiling": ratio_text(server["ratio"]), "to the best peer": ratio_text(server["ratio"]),
        "client µs": number(server["client_us"]), "requests/s": number(server["per_second"], 0),
        "p50 ms": number(server["p50_ms"], 3), "p99 ms": number(server["p99_ms"]),
    }


def server_row(summary, server):
    name = server["name"] + (f" ({server['backend']})" if server["kind"] == "skua" and server["backend"] else "")
    name += (" ◂" if server["name"] == summary["reference"] else "")
    cells = server_cells(server)
    return ([name, number(server["median"], 3 if summary["reference_kind"] == "peer" else 2)]
            + [cells[column] for column in COLUMNS[summary["reference_kind"]]]
            + [str(server["answer_octets"]), errors_text(server["errors"])])


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join([" --- "] + [" ---: "] * (len(head) - 1)) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def workload_section(summary):
    lines = ["", f"## {summary['title']} (`{summary['name']}`)", ""]
    rows = [server_row(summary, server) for server in sorted(summary["servers"], key=lambda s: s["median"] or float("inf"))]
    lines += markdown(["server", summary["unit"], *COLUMNS[summary["reference_kind"]], "octets", "errors"], rows)
    notes = reference_notes(summary) + verdict_notes(summary)
    notes += [f"- {name} left out: {why}" for name, why in summary["skipped"].items()]
    return lines + [""] * bool(notes) + notes


def reference_notes(summary):
    """Which one the ratios are to. One of several ceilings is only the better of those that took part."""
    kind = summary["reference_kind"]
    if kind is None:
        return []
    if not summary["reference"]:
        return [f"- No {kind} was measured, so there are no ratios"]
    others = [f"{s['name']} {number(s['median'])}" for s in of_kind(summary, kind) if s["name"] != summary["reference"]]
    return [f"- The best {kind} ◂: {summary['reference']}" + (f"; the others: {'; '.join(others)}" if others else ", the only one")]


def verdict_notes(summary):
    return [f"- {v['server']} {v['asked']}: {ratio_text(v['found']) + ', ' if v['found'] else ''}**{v['verdict']}**"
            for v in summary["verdicts"]]


def machine_text(outcome):
    here = outcome["machine"]
    control = here["congestion_control"]
    others = "for everybody" if control == "reno" else "for the peers, reno for Skua and the ceilings"
    return (f"{here['processor']}, server and client on one core each of {here['cores']}, Linux {here['kernel']}, "
            f"congestion control {control} {others}, {here['date']}")


def table(outcome):
    rounds = outcome["rounds"]
    lines = ["# Skua beside its ceilings and peers", "", machine_text(outcome) + ".", ""]
    lines += [f"{rounds} interleaved rounds of {outcome['seconds']} s. Medians; in brackets the "
              + ("95 % interval of the median of the paired ratios." if figures.order_rank(rounds)
                 else "smallest and largest of the paired ratios (too few rounds for an interval).")]
    lines += [""] * bool(outcome["missing"]) + [f"- {name} took no part: {why}" for name, why in outcome["missing"].items()]
    for summary in outcome["workloads"]:
        lines += workload_section(summary)
    lines += ["", "## Malformed requests refused", ""]
    lines += markdown(["server", f"of {len(outcome['malformed'])}", "let through"],
                      [[name, str(len(refused)), ", ".join(k for k in outcome["malformed"] if k not in refused) or "none"]
                       for name, refused in outcome["refused"].items()])
    lines += ["", "Versions: " + "; ".join(f"{name}: {text}" for name, text in outcome["machine"]["versions"].items()) + ".", ""]
    return "\n".join(lines)
