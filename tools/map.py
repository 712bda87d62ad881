#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the folders of src/ and program/ and the includes between them, and looks for circles.

    python3 tools/map.py [--out docs/map.svg]

A circle between folders, or one of more than CIRCLE_FILES_MAX files within a folder, is an error: exit status 1. A
header and the file of the same name count as one.
"""

import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
CIRCLE_FILES_MAX = 5
BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN = 150, 48, 28, 44, 20


def units(root):
    """folder/noun, for each pair of files, with what it includes and how many lines it has."""
    wants, lines = collections.defaultdict(set), collections.Counter()
    paths = [*root.glob("src/*/*.[ch]"), *root.glob("program/**/*.[ch]")]
    names = {str(p.relative_to(root).with_suffix("")).removeprefix("src/") for p in paths}
    for path in paths:
        unit = str(path.relative_to(root).with_suffix("")).removeprefix("src/")
        text = path.read_text()
        lines[unit] += text.count("\n")
        for name in INCLUDE.findall(text):
            target = name.removesuffix(".h")
            if unit.startswith("program/"):
                target = f"program/{target}"
            if target in names and target != unit:
                wants[unit].add(target)
    return {name: wants[name] for name in sorted(names)}, lines


def circles(graph):
    """The strongly connected components of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component = [stack.pop()]
            while component[-1] != node:
                component.append(stack.pop())
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def between_folders(graph):
    out = {unit.rsplit("/", 1)[0]: set() for unit in graph}
    for unit, targets in graph.items():
        folder = unit.rsplit("/", 1)[0]
        out[folder] |= {target.rsplit("/", 1)[0] for target in targets} - {folder}
    return out


def reduced(arrows):
    """Without the arrows that a longer way implies, so that the drawing shows what rests on what."""

    def reach(node, seen):
        for other in arrows[node]:
            if other not in seen:
                seen.add(other)
                reach(other, seen)
        return seen

    return {node: {t for t in targets if not any(t in reach(o, set()) for o in targets if o != t)}
            for node, targets in arrows.items()}


def depths(arrows):
    known = {}

    def depth(node):
        if node not in known:
            known[node] = 1 + max((depth(other) for other in arrows[node]), default=-1)
        return known[node]

    for node in arrows:
        depth(node)
    return known


def place(arrows):
    """The middle of each folder's box: what rests on nothing at the bottom."""
    rows = collections.defaultdict(list)
    for node, depth in sorted(depths(arrows).items()):
        rows[depth].append(node)
    width = max(len(row) for row in rows.values()) * (BOX_WIDTH + GAP_X) - GAP_X + 2 * MARGIN
    top = max(rows)
    spots = {}
    for depth, row in rows.items():
        left = (width - len(row) * (BOX_WIDTH + GAP_X) + GAP_X) / 2
        for i, node in enumerate(row):
            spots[node] = (left + i * (BOX_WIDTH + GAP_X) + BOX_WIDTH / 2,
                           MARGIN + (top - depth) * (BOX_HEIGHT + GAP_Y) + BOX_HEIGHT / 2)
    return spots, width, (top + 1) * (BOX_HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN


def draw(graph, lines):
    arrows = reduced(between_folders(graph))
    spots, width, height = place(arrows)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" font-family="sans-serif">',
        "<title>Folders, and what each includes</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#667085"/></marker></defs>',
        f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>',
    ]
    for node in sorted(arrows):
        for other in sorted(arrows[node]):
            (x1, y1), (x2, y2) = spots[node], spots[other]
            out.append(f'<path d="M{x1:g} {y1 + BOX_HEIGHT / 2:g}L{x2:g} {y2 - BOX_HEIGHT / 2:g}" stroke="#98a2b3" '
                       'fill="none" marker-end="url(#tip)"/>')
    for node, (x, y) in sorted(spots.items()):
        members = [unit for unit in graph if unit.rsplit("/", 1)[0] == node]
        total = sum(lines[unit] for unit in members)
        out += [
            f'<rect x="{x - BOX_WIDTH / 2:g}" y="{y - BOX_HEIGHT / 2:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" '
            'rx="6" fill="#f2f6ff" stroke="#3b82f6"/>',
            f'<text x="{x:g}" y="{y - 3:g}" text-anchor="middle" font-size="15" font-weight="600">{node}/</text>',
            f'<text x="{x:g}" y="{y + 15:g}" text-anchor="middle" font-size="11" fill="#667085">'
            f"{len(members)} nouns, {round(total, -2):,} lines</text>",
        ]
    return "\n".join([*out, "</svg>", ""])


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/map.svg")
    arguments.add_argument("--root", type=pathlib.Path, default=ROOT)
    given = arguments.parse_args()
    graph, lines = units(given.root)
    bad = circles(between_folders(graph))
    for circle in bad:
        print(f"map: a circle of folders: {', '.join(circle)}")
    for circle in circles(graph):
        print(f"map: {len(circle)} files in a circle: {', '.join(circle)}")
        if len(circle) > CIRCLE_FILES_MAX:
            bad.append(circle)
    if bad:
        sys.exit(1)
    given.out.write_text(draw(graph, lines))
    print(f"map: {given.out.name}, {len(between_folders(graph))} folders")


if __name__ == "__main__":
    main()
