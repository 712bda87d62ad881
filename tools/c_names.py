# SPDX-License-Identifier: MIT
"""Reads C as far as its names go: tokens, what is declared at file scope, and which tokens are members.

Not a parser of all of C: it knows the C this project is written in, where every macro that is used in a
declaration stands for a specifier or an attribute, and every #if and #else hold whole declarations.
"""

import dataclasses
import re

TOKEN = re.compile(
    r"""
    (?P<space>(?:[ \t\f\v\r]|\\\n)+)
  | (?P<newline>\n)
  | (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
  | (?P<text>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|[uUL]?'(?:\\.|[^'\\\n])*')
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<mark>->|\.\.\.|\#\#|.)
    """,
    re.X | re.S,
)

BLANK = {"space", "newline", "comment"}
OPEN, CLOSE = {"(", "[", "{"}, {")", "]", "}"}
AGGREGATES = {"struct", "union", "enum"}
ATTRIBUTES = {"__attribute__", "_Alignas", "alignas", "__declspec", "__asm__", "typeof", "__typeof__"}


@dataclasses.dataclass(eq=False)
class Token:
    kind: str
    text: str
    line: int
    directive: "Directive" = None  # the one it stands in
    is_member: bool = False
    is_local: bool = False

    def __str__(self):
        return self.text


class Directive(list):
    """The tokens of a line that begins with #."""

    @property
    def words(self):
        return [t.text for t in self if t.kind == "name"]

    @property
    def keyword(self):
        return (self.words or [""])[0]


@dataclasses.dataclass
class Name:
    """A name declared at file scope."""

    text: str
    space: str            # "ordinary", "tag" or "macro"
    what: str             # "function", "object", "typedef", "enumerator", "tag" or "macro"
    line: int
    is_static: bool = False
    is_definition: bool = False
    words: str = ""       # a typedef's declaration, which may be repeated in the same words


@dataclasses.dataclass
class Declaration:
    """One external declaration: where its tokens begin, its names, and its storage class."""

    first: Token
    names: list
    tokens: list
    storage: Token = None  # "static", "extern" or "typedef"
    is_body: bool = False  # a function with its body


class Source:
    """The tokens of one file and what they declare."""

    def __init__(self, text):
        self.tokens = list(tokenize(text))
        mark_directives(self.tokens)
        self.code = [t for t in self.tokens if t.kind not in BLANK and t.directive is None]
        mark_members(self.code)
        self.declarations = [declaration(part) for part in external_declarations(self.code)]
        self.directives = list(directives(self.tokens))
        self.macros = list(macros(self.tokens))

    def file_scope_names(self):
        for each in self.declarations:
            yield from each.names
        yield from self.macros

    def mark_locals(self, types):
        """Marks parameters and locals. types: the names of types that are not struct, union or enum."""
        for each in self.declarations:
            mark_locals(each.tokens, types)

    def nested_names(self):
        """Tags and enumerators wherever they are declared, in functions too."""
        yield from aggregate_names(self.code)


def tokenize(text):
    line = 1
    for match in TOKEN.finditer(text):
        yield Token(match.lastgroup, match.group(), line)
        line += match.group().count("\n")


def mark_directives(tokens):
    """A directive goes from the first # of a line to the line's end."""
    at_start, line = True, None
    for token in tokens:
        if token.kind == "newline":
            at_start, line = True, None
        elif line is not None:
            line.append(token)
        elif at_start and token.text == "#":
            line = Directive([token])
        token.directive = line
        if token.kind not in BLANK:
            at_start = False


def directives(tokens):
    for token in tokens:
        if token.directive and token.directive[0] is token:
            yield token.directive


def macros(tokens):
    """The macros that are defined; is_definition is false of those undefined again before the file ends."""
    found = {}
    for line in directives(tokens):
        if line.keyword == "define":
            name = [t for t in line if t.kind == "name"][1]
            found.setdefault(name.text, Name(name.text, "macro", "macro", name.line, True, True))
        elif line.keyword == "undef" and line.words[1] in found:
            found[line.words[1]].is_definition = False
    return found.values()


def closing(tokens, at):
    """The index of the bracket that closes the one at at."""
    depth = 0
    for i in range(at, len(tokens)):
        if tokens[i].text in OPEN:
            depth += 1
        elif tokens[i].text in CLOSE:
            depth -= 1
            if depth == 0:
                return i
    raise ValueError(f"line {tokens[at].line}: {tokens[at]} is never closed")


def external_declarations(code):
    """Splits a file into external declarations, each a list of tokens."""
    start = at = 0
    while at < len(code):
        text = code[at].text
        if text in OPEN:
            if at and code[at - 1].text == '"C"':  # extern "C" {: its brackets are as if not there
                start = at = at + 1
                continue
            end = closing(code, at)
            if text == "{" and is_body(code, start, at):
                yield code[start:end + 1]
                start = end + 1
            at = end
        elif text in (";", "}"):
            if at > start:
                yield code[start:at + 1]
            start = at + 1
        at += 1


def is_body(code, start, at):
    """Whether the brace at at begins a function's body: neither an aggregate's nor an initializer's."""
    if code[at - 1].text != ")" or is_aggregate(code, at):
        return False
    return all(t.text != "=" for t in code[start:at])


def is_aggregate(code, at):
    """Whether the brace at at begins the body of a struct, union or enum."""
    i = at - 1
    while i >= 0 and code[i].text == ")":  # attributes
        depth = 0
        while i >= 0:
            depth += (code[i].text == ")") - (code[i].text == "(")
            i -= 1
            if depth == 0:
                break
        if i < 0 or code[i].text not in ATTRIBUTES:
            return False
        i -= 1
    if i >= 0 and code[i].text in AGGREGATES:
        return True
    return i >= 1 and code[i].kind == "name" and code[i - 1].text in AGGREGATES


def declaration(part):
    storage = next((t for t in part if t.text in ("static", "extern", "typedef")), None)
    names = list(aggregate_names(part)) if not ends_in_body(part) else []
    result = Declaration(part[0], names, part, storage, ends_in_body(part))
    is_static = storage is not None and storage.text == "static"
    for token, is_function in declared(part):
        if storage is not None and storage.text == "typedef":
            what = "typedef"
        else:
            what = "function" if is_function else "object"
        defines = result.is_body or what == "object" and not (storage and storage.text == "extern")
        words = " ".join(t.text for t in part) if what == "typedef" else ""
        names.append(Name(token.text, "ordinary", what, token.line, is_static, defines, words))
    return result


def ends_in_body(part):
    return part[-1].text == "}"


def declared(part):
    """The declarators' names of a declaration, each with whether it is a function."""
    if part[0].text in ("_Static_assert", "static_assert"):
        return
    for declarator in split(plain(part), ","):
        name = declarator_name(declarator)
        if name:
            after = declarator[declarator.index(name) + 1:][:1]
            yield name, bool(after) and after[0].text == "("


def plain(part):
    """The declaration without attributes, bodies, initializers' braces and its last mark."""
    out, at = [], 0
    while at < len(part):
        token = part[at]
        if token.text in ATTRIBUTES and at + 1 < len(part) and part[at + 1].text == "(":
            at = closing(part, at + 1)
        elif token.text == "{":
            at = closing(part, at)
        elif token.text in AGGREGATES:
            if at + 1 < len(part) and part[at + 1].kind == "name" and part[at + 1].text not in ATTRIBUTES:
                at += 1
            out.append(token)
        elif token.text != ";":
            out.append(token)
        at += 1
    return out


def split(tokens, mark):
    """Splits at marks outside of brackets."""
    parts, depth = [[]], 0
    for token in tokens:
        depth += (token.text in OPEN) - (token.text in CLOSE)
        if token.text == mark and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def declarator_name(tokens):
    """The name a declarator declares; the first one has the specifiers before it."""
    last, seen = None, 0
    for at, token in enumerate(tokens):
        if token.text == "(" and at + 1 < len(tokens) and tokens[at + 1].text == "*":
            return declarator_name(tokens[at + 2:closing(tokens, at)])
        if token.text in ("(", "[", "=", ":"):
            break
        if token.kind == "name" or token.text == "*":
            seen += 1
        if token.kind == "name" and token.text not in ("const", "volatile", "restrict", "_Atomic"):
            last = token
    if last is None or last.text in AGGREGATES:
        return None
    return last


def aggregate_names(code):
    """Tags that have a body, and enumerators."""
    for at, token in enumerate(code):
        if token.text != "{" or not is_aggregate(code, at):
            continue
        before = code[at - 1]
        if before.kind == "name" and before.text not in AGGREGATES:
            yield Name(before.text, "tag", "tag", before.line, True, True)
            before = code[at - 2]
        if before.text == "enum":
            for part in split(code[at + 1:closing(code, at)], ","):
                if part:
                    yield Name(part[0].text, "ordinary", "enumerator", part[0].line, True, True)


def mark_members(code):
    """Marks tokens that name members: in bodies, after . and ->, and in offsetof."""
    for at, token in enumerate(code):
        if token.text == "{" and is_aggregate(code, at) and not is_enum(code, at):
            mark_declared_members(code[at + 1:closing(code, at)])
        elif token.text in (".", "->") and at + 1 < len(code):
            code[at + 1].is_member = True
        elif token.text in ("offsetof", "__builtin_offsetof"):
            second = split(code[at + 2:closing(code, at + 1)], ",")[1]
            for each in second:
                each.is_member = True


def is_enum(code, at):
    return "enum" in (code[at - 1].text, code[at - 2].text)


def mark_declared_members(body):
    for part in split(body, ";"):
        if part:
            for name, _ in declared(part):
                name.is_member = True


BUILT_IN = set("void char short int long float double signed unsigned bool _Bool const volatile restrict".split())


def mark_locals(code, types):
    """Marks names that are declared inside of a declaration, from there to the end of their scope."""
    opened = []
    for at, token in enumerate(code):
        if token.text in OPEN:
            opened.append(at)
        elif token.text in CLOSE:
            opened.pop()
        elif opened and token.kind == "name" and declares_local(code, at, types):
            for other in code[at:scope_end(code, opened)]:
                if other.text == token.text and not other.is_member:
                    other.is_local = True


def declares_local(code, at, types):
    """Whether the name at at follows a type and is followed by what may follow a declarator."""
    if code[at].is_member or at + 1 >= len(code) or code[at + 1].text not in (",", ")", "=", ";", "[", ":"):
        return False
    i = at - 1
    while i > 0 and (code[i].text == "*" or code[i].text in ("const", "restrict", "volatile")):
        i -= 1
    if code[i].kind != "name":
        return False
    return is_type(code[i].text, types) or code[i - 1].text in AGGREGATES


def is_type(text, types):
    return text in BUILT_IN or text in types or text.endswith("_t")


def scope_end(code, opened):
    """Where the scope of what is declared inside of the open brackets ends."""
    brace = next((at for at in reversed(opened) if code[at].text == "{"), None)
    if code[opened[-1]].text == "{":
        return closing(code, opened[-1])
    after = closing(code, opened[-1]) + 1
    if brace is None:  # parameters: to the end of the function
        return len(code)
    if after < len(code) and code[after].text == "{":  # for (int i = 0; ...) {
        return closing(code, after)
    return next((i for i in range(after, len(code)) if code[i].text == ";"), len(code))
