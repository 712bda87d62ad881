# SPDX-License-Identifier: MIT
"""The picture: for every workload a panel of bars beside the better ceiling, drawn as SVG for light and dark pages."""

import json
import sys
from xml.sax.saxutils import escape

import report

WIDTH = 860
PANEL_WIDTH = 400
GAP = 20
NAME_WIDTH = 108
NAME_MAX = 18  # letters
VALUE_WIDTH = 92
BAR_HEIGHT = 15
BAR_PITCH = 22
PANEL_TOP = 44
PANEL_BOTTOM = 14
HEADER = 90
RATIO_MAX = 6

STYLE = """
  :root { color-scheme: light dark; }
  .page { fill: #ffffff; stroke: #d8dee4; }
  text { font-family: system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; fill: #1f2933; }
  .title { font-size: 20px; font-weight: 650; }
  .panel { font-size: 13.5px; font-weight: 600; }
  .small { font-size: 11.5px; }
  .faint { fill: #66737f; }
  .name { font-size: 12px; text-anchor: end; }
  .value { font-size: 11.5px; font-variant-numeric: tabular-nums; }
  .ours { font-weight: 700; }
  .track { fill: #f1f4f7; }
  .ceiling { fill: #aab7c4; }
  .skua { fill: #0b7285; }
  .backend, .library { fill: #6aa9b5; }
  .peer { fill: #e0955a; }
  .cut { fill: #ffffff; }
  .limit { stroke: #5c6b7a; stroke-width: 1; stroke-dasharray: 3 3; }
  .spread { stroke: #1f2933; stroke-opacity: .55; stroke-width: 1; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #14191f; stroke: #2c3640; }
    text { fill: #e3e9ee; }
    .faint { fill: #93a1ad; }
    .track { fill: #1d252d; }
    .ceiling { fill: #566676; }
    .skua { fill: #3bc9db; }
    .backend, .library { fill: #2b7c88; }
    .peer { fill: #c9763c; }
    .cut { fill: #14191f; }
    .limit { stroke: #93a1ad; }
    .spread { stroke: #ffffff; }
  }
"""


def text(x, y, content, classes=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}">{escape(content)}</text>'


def rect(x, y, width, height, classes, radius=2):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" rx="{radius}" class="{classes}"/>'


def line(x1, y1, x2, y2, classes):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{classes}"/>'


def length(summary, server):
    """The height of a bar: the paired ratio times the reference, so that a slow moment of the machine shows in no bar."""
    return server["ratio"]["ratio"] * report.reference(summary)["median"] if server["ratio"] else server["median"]


def shown(summary):
    """The better ceiling, then everybody else by cost."""
    servers = [s for s in summary["servers"]
               if s["median"] is not None and (s["kind"] != "ceiling" or s["name"] == summary["reference"])]
    return sorted(servers, key=lambda s: (s["kind"] != "ceiling", length(summary, s)))


def value_text(summary, server):
    if summary["unit"].startswith("octets"):
        return f"{server['median']:,.0f} octets"
    digits = 2 if server["median"] < 10 else 1 if server["median"] < 100 else 0
    cost = f"{server['median']:.{digits}f} {'ms' if summary['unit'].startswith('ms') else 'µs'}"
    ratio = server["ratio"]
    return cost + (f"  ×\u2009{ratio['ratio']:.2f}" if ratio and server["kind"] != "ceiling" else "")


def whiskers(summary, server, left, y, scale):
    """The interval, drawn where it fits. Returns the parts and where they end."""
    ratio, against = server["ratio"], report.reference(summary)
    if not ratio or ratio["rounds"] < 2 or server is against or ratio["high"] > RATIO_MAX:
        return [], left
    low, high = (left + ratio[end] * against["median"] * scale for end in ("low", "high"))
    middle = y + BAR_HEIGHT / 2
    return [line(low, middle, high, middle, "spread")] + [line(x, y + 4, x, y + BAR_HEIGHT - 4, "spread") for x in (low, high)], high


def bar(summary, server, x, y, scale, room):
    left = x + NAME_WIDTH + 8
    ours = " ours" if server["kind"] == "skua" else ""
    name = server["name"].removesuffix(" by sendfile")
    if server["kind"] == "ceiling" and len(name) > NAME_MAX:
        name = "ceiling"
    end = left + min(length(summary, server) * scale, room)
    spread, spread_end = whiskers(summary, server, left, y, scale)
    parts = [text(left - 8, y + 12, name, "name" + ours + (" faint" if server["kind"] == "ceiling" else "")),
             rect(left, y, end - left, BAR_HEIGHT, server["kind"])]
    if length(summary, server) * scale > room + 0.5:  # too long to be drawn: a gap says so
        parts += [f'<path d="M{end - 22:.1f} {y + BAR_HEIGHT + 1} l5 -{BAR_HEIGHT + 2} h5 l-5 {BAR_HEIGHT + 2} z" class="cut"/>']
    return parts + spread + [text(max(end, spread_end) + 6, y + 12, value_text(summary, server), "value" + ours)]


def scale_of(summary, servers, room):
    """Bars past RATIO_MAX times the reference are cut, or they would leave nothing of the others."""
    against = report.reference(summary) or {"median": 0}
    longest = max(max(length(summary, s), (s["ratio"] or {}).get("high", 0) * against["median"]) for s in servers)
    if against["median"]:
        longest = min(longest, RATIO_MAX * against["median"])
    return room / longest if longest > 0 else 0


def panel(summary, x, y):
    servers = shown(summary)
    parts = [text(x, y + 16, summary["title"], "panel"), text(x, y + 33, summary["unit"], "small faint")]
    if not servers:
        return parts
    room = PANEL_WIDTH - NAME_WIDTH - 8 - VALUE_WIDTH
    scale = scale_of(summary, servers, room)
    for i, server in enumerate(servers):
        parts += bar(summary, server, x, y + PANEL_TOP + i * BAR_PITCH, scale, room)
    if servers[0]["kind"] == "ceiling":
        at = x + NAME_WIDTH + 8 + servers[0]["median"] * scale
        parts.append(line(at, y + PANEL_TOP - 4, at, y + PANEL_TOP + len(servers) * BAR_PITCH - 3, "limit"))
    return parts


def panel_height(summary):
    return PANEL_TOP + len(shown(summary)) * BAR_PITCH + PANEL_BOTTOM


def draw(outcome):
    margin = GAP
    y = HEADER
    body = []
    summaries = outcome["workloads"]
    for i in range(0, len(summaries), 2):
        pair = summaries[i:i + 2]
        for column, summary in enumerate(pair):
            body += panel(summary, margin + column * (PANEL_WIDTH + GAP), y)
        y += max(panel_height(summary) for summary in pair) + 8
    height = y + 6
    head = [text(margin, 34, "What a request costs the server", "title"),
            text(margin, 54, "Shorter is better. ×: to the ceiling (dashes), the better of two loops that only receive and send; "
                 "in open loops, to the best peer.", "small faint"),
            text(margin, 70, report.machine_text(outcome), "small faint")]
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
         'aria-label="Server CPU per request, Skua beside the better ceiling and its peers">', f"<style>{STYLE}</style>",
         rect(0.5, 0.5, WIDTH - 1, height - 1, "page", 8)] + head + body + ["</svg>", ""])


def main(paths):
    """Draws the workloads of several runs, on the machine of the first; one that is in several as the first has it."""
    outcomes = []
    for path in paths:
        with open(path, encoding="utf-8") as source:
            outcomes.append(json.load(source))
    found = {}
    for summary in (summary for outcome in outcomes for summary in outcome["workloads"]):
        found.setdefault(summary["name"], summary)
    sys.stdout.write(draw({**outcomes[0], "workloads": list(found.values())}))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: chart.py bench.json ... > bench.svg")
    main(sys.argv[1:])
