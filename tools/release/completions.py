#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the completions for bash, zsh and fish from the program's tables of options and commands.

    python3 tools/release/completions.py FOLDER      FOLDER/skua.bash, FOLDER/_skua, FOLDER/skua.fish
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from release.tables import commands, options  # noqa: E402

FILES, FOLDERS = {"FILE"}, {"DIR", "FOLDER"}


def values(option):
    """Words that --help lists as an option's values: "auto, epoll or uring"."""
    listed = re.search(r"(?:: |^)((?:\w+(?: \([^)]*\))?, )*\w+(?: \([^)]*\))? or \w+)(?:,| \(|$)", option.help)
    if not option.argument or option.argument in FILES or not listed:
        return []
    return re.split(r", | or ", re.sub(r" \([^)]*\)", "", listed.group(1)))


def bash():
    cases = []
    for option in options():
        names = f"--{option.name}" + (f"|-{option.letter}" if option.letter else "")
        if values(option):
            cases.append(f'        {names}) COMPREPLY=($(compgen -W "{" ".join(values(option))}" -- "$word")); return ;;')
        elif option.argument in FILES:
            cases.append(f'        {names}) COMPREPLY=($(compgen -f -- "$word")); return ;;')
        elif option.argument:
            cases.append(f"        {names}) return ;;")
    long = " ".join(f"--{option.name}" for option in options())
    words = " ".join(command.name for command in commands())
    return f"""# SPDX-License-Identifier: MIT
# Completion of skua for bash, made from the program's own tables.

_skua()
{{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
    COMPREPLY=()
    case $before in
{chr(10).join(cases)}
    esac
    case $word in
        -*) COMPREPLY=($(compgen -W "{long}" -- "$word")); return ;;
    esac
    [ "$COMP_CWORD" -gt 1 ] || COMPREPLY=($(compgen -W "{words}" -- "$word"))
    COMPREPLY+=($(compgen -f -- "$word"))
}}
complete -o filenames -F _skua skua
"""


def zsh():
    def text(said):
        return said.replace("\\", "").replace("[", "(").replace("]", ")").replace(":", ";").replace("'", "'\\''")

    lines = []
    for option in options():
        then = f":{option.argument}:" if option.argument else ""
        if values(option):
            then += f"({' '.join(values(option))})"
        elif option.argument in FILES:
            then += "_files"
        for name in [f"--{option.name}"] + ([f"-{option.letter}"] if option.letter else []):
            lines.append(f"    '{name}[{text(option.help)}]{then}'")
    named = "\n".join(f"    '{c.name}:{text(c.help)}'" for c in commands())
    return f"""#compdef skua
# SPDX-License-Identifier: MIT
# Completion of skua for zsh, made from the program's own tables.

local -a skua_commands
skua_commands=(
{named}
)
_skua_first() {{ _describe command skua_commands; _files }}
_arguments \\
{" {}".format(chr(92) + chr(10)).join(lines)} \\
    '1:command or folder:_skua_first' \\
    '*:file:_files'
"""


def fish():
    def text(said):
        return said.replace("\\", "\\\\").replace("'", "\\'")

    lines = ["# SPDX-License-Identifier: MIT", "# Completion of skua for fish, made from the program's own tables."]
    for command in commands():
        lines.append(f"complete -c skua -n __fish_use_subcommand -a {command.name} -d '{text(command.help)}'")
    for option in options():
        words = f"complete -c skua -l {option.name}" + (f" -s {option.letter}" if option.letter else "")
        if values(option):
            words += f" -x -a '{' '.join(values(option))}'"
        elif option.argument in FILES:
            words += " -r -F"
        elif option.argument:
            words += " -x"
        lines.append(f"{words} -d '{text(option.help)}'")
    return "\n".join(lines) + "\n"


def write(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in {"skua.bash": bash(), "_skua": zsh(), "skua.fish": fish()}.items():
        (folder / name).write_text(made)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    write(sys.argv[1])
