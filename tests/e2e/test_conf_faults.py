# SPDX-License-Identifier: MIT
"""skua check: each wrong configuration has its one sentence, with file, line and column, and says what would be right."""

import os
import socket
import subprocess

import pytest
from certificates import make
from ports import free_port
from server import BUILD, check_sanitizers

SKUA = BUILD / "skua"
WHOLE = "listen :0\nsite * {\n root pub\n}\n"  # is right; what a case adds is not


def check(folder, text=None, name="f.conf", env=None):
    """(exit status, standard output, standard error) of a check of text, as name in folder."""
    if text is not None:
        (folder / name).write_bytes(text.encode())
    done = subprocess.run([SKUA, "check", "-c", name], cwd=folder, capture_output=True, text=True, timeout=20, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
    check_sanitizers(done.stderr)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with all that the cases name: a root, files that include one another."""
    folder = tmp_path_factory.mktemp("conf")
    (folder / "pub").mkdir()
    (folder / "pub" / "index.html").write_text("<p>here</p>")
    (folder / "file").write_text("")
    (folder / "short.key").write_bytes(b"x" * 79)
    (folder / "self.conf").write_text("include self.conf\n")
    (folder / "a.conf").write_text("include b.conf\n")
    (folder / "b.conf").write_text("\n  include a.conf\n")
    (folder / "wrong.conf").write_text("lisen :80\n")
    (folder / "who.conf").write_text(f"anna:{HASH}\n")
    (folder / "a.tokens").write_text("ci:" + "0" * 64 + "\n")
    (folder / "big.conf").write_text("#" * (1 << 20) + "\n")
    return folder


# Grammar: nothing is said of directives while a file cannot be read.
GRAMMAR = [
    ("root \"pub", "1:6: the closing quotation mark is missing on this line"),
    ("root \"pub\"x", "1:11: a space is missing behind the quotation mark"),
    ("root p\"ub\"", "1:7: a quotation mark is inside a word; put the whole word into them"),
    ("root \"\\n\"", "1:7: in quotation marks a \"\\\" stands before a quotation mark, \"\\\" or \"$\"; \"\\\\\" is one \"\\\""),
    ("listen :80;", "1:8: a line ends by itself: leave the \";\" out"),
    ("site a{\n}", "1:7: a \"{\" is inside a word; put a space before it, or the word into quotation marks"),
    ("redirect /a/{x} /b", "1:13: a \"{\" is inside a word; put a space before it, or the word into quotation marks"),
    ("site a { root pub }", "1:10: nothing may follow a \"{\" on its line; what is in a block begins on the next"),
    ("site a {\n root pub }", "2:11: a \"}\" stands on a line of its own"),
    ("site a {\n} listen :80", "2:3: nothing may follow a \"}\" on its line"),
    ("site a\n{\n}", "2:1: a \"{\" stands behind the name of a directive, on its line"),
    ("site a {\n}\n}", "3:1: this \"}\" closes no block"),
    ("site a {\n path /b/ {\n }\n", "1:8: this block is not closed; a \"}\" on a line of its own is missing"),
    ("listen :${PORT_THAT_IS_NOT_SET}", "1:9: the environment has no variable PORT_THAT_IS_NOT_SET"),
    ("listen :${}", "1:9: the name of a variable is missing: ${NAME}"),
    ("listen :${A-B}", "1:9: a variable is written ${NAME}, with letters, digits and _"),
    ("listen :${A", "1:9: the \"}\" of \"${\" is missing"),
    ("listen :8\x000", "1:10: a control character (0x00) is here"),
]

INCLUDES = [
    ("status 9100", "1:8: \"9100\" names no address; :9100 is every one of this machine, and 127.0.0.1:9100 for itself alone"),
    ("status", "1:1: it is written status ADDRESS, as in: status 127.0.0.1:9100"),
    ("include none.conf", "1:9: \"none.conf\": there is no such file"),
    ("include", "1:1: include takes one file, or a pattern: include PATTERN, as in include sites/*.conf"),
    ("include a b", "1:1: include takes one file, or a pattern: include PATTERN, as in include sites/*.conf"),
    ("include pub", "1:9: \"pub\" is a folder; include takes files: pub/*.conf"),
    ("include f.conf", "1:9: \"f.conf\" includes itself"),
    ("include self.conf", "self.conf:1:9: \"self.conf\" includes itself"),
    ("include a.conf", "b.conf:2:11: \"a.conf\" includes itself, by way of b.conf"),
    ("\ninclude wron*.conf", "wrong.conf:1:1: there is no directive \"lisen\"; did you mean listen?"),
    ("include none/*.conf", "1:9: the folder of \"none/*.conf\" cannot be read"),
    ("include big.conf", "1:9: \"big.conf\" has more than 1048576 octets"),
]

NAMES = [
    ("nothing_like_it 1", "1:1: there is no directive \"nothing_like_it\""),
    ("lisetn :80", "1:1: there is no directive \"lisetn\"; did you mean listen?"),
    ("server_name a", "1:1: there is no directive \"server_name\"; did you mean site?"),
    ("site a {\n location / {\n }\n}", "2:2: there is no directive \"location\"; did you mean path?"),
    ("site a {\n gzip on\n}", "2:2: there is no directive \"gzip\"; did you mean compress?"),
    ("example.org {\n root pub\n}", "1:1: there is no directive \"example.org\"; a site is written: site example.org {"),
    ("site a {\n root pub\n header X \"b\";\n}", "3:14: a line ends by itself: leave the \";\" out"),
    ("site a {\n root pub\n path /b/*.css {\n }\n}", "3:7: \"/b/*.css\" is no path; it is written decoded, without //, /../ and patterns"),
    ("site a {\n root pub\n error_page 404 /none/404.html\n}",
     "3:17: the page /none/404.html cannot be read, or has more than 65536 octets; a path from / is one of the file system"),
    ("inclde a", "1:1: there is no directive \"inclde\"; did you mean include?"),
    ("root pub", "1:1: root does not stand outside of blocks, but directly in a site or in the block of a path"),
    ("site a {\n listen :80\n}", "2:2: listen does not stand directly in a site, but outside of blocks"),
    ("site a {\n site b {\n }\n}", "2:2: site does not stand directly in a site, but outside of blocks"),
    ("defaults {\n root pub\n}", "2:2: root does not stand in defaults, but directly in a site or in the block of a path"),
    ("site a {\n root pub\n path /b/ {\n  canonical http://a\n }\n}", "4:3: canonical does not stand in the block of a path, but directly in a site"),
    ("site a {\n root pub\n path /b/ {\n  path /b/c/ {\n  }\n }\n}", "4:3: path does not stand in the block of a path, but directly in a site"),
    ("compress", "1:1: compress does not stand outside of blocks, but in defaults, directly in a site or in the block of a path"),
    ("listen", "1:1: it is written listen ADDRESS [tls], as in: listen :443 tls"),
    ("workers 1 2", "1:1: it is written workers NUMBER, as in: workers 4; a word with spaces needs quotation marks"),
    ("workers 1 {\n}", "1:1: workers has no block; leave the \"{\" out"),
    ("site a", "1:1: site has a block: a \"{\" is missing at the end of the line"),
    ("workers 1\n\nworkers 2", "3:1: workers stands here once, and is in line 1 of f.conf already"),
    ("site a {\n root pub\n root pub\n}", "3:2: root stands here once, and is in line 2 of f.conf already"),
]

VALUES = [
    ("head_timeout 5", "1:14: head_timeout: \"5\" lacks a unit, one of ms, s, min, h and d: 5s are seconds"),
    ("head_timeout 5m", "1:14: head_timeout: \"5m\" can be read as minutes and as mebibytes; for minutes write 5min"),
    ("head_timeout 5sec", "1:14: head_timeout: \"sec\" is no unit of time; there are ms, s, min, h and d"),
    ("head_timeout 1.5s", "1:14: head_timeout: a duration is a whole number with a unit, as 10s is; \"1.5s\" is none"),
    ("head_timeout -1s", "1:14: head_timeout: a duration is a whole number with a unit, as 10s is; \"-1s\" is none"),
    ("head_timeout 0", "1:14: head_timeout: use a duration from 1ms to 1d, not 0"),
    ("head_timeout 25h", "1:14: head_timeout: use a duration from 1ms to 1d, not 25h"),
    ("head_timeout 99999999999999999999s",
     "1:14: head_timeout: a duration is a whole number with a unit, as 10s is; \"99999999999999999999s\" is none"),
    ("grace forever", "1:7: grace: a duration is a whole number with a unit, as 10s is; \"forever\" is none"),
    ("head_max 5m", "1:10: head_max: \"5m\" can be read as mebibytes and as minutes; for mebibytes write 5MiB"),
    ("head_max 5k", "1:10: head_max: \"5k\" can be read with 1000 and with 1024; for 1024 write 5KiB"),
    ("head_max 5MB", "1:10: head_max: \"5MB\" can be read with 1000 and with 1024; for 1024 write 5MiB"),
    ("head_max 5miles", "1:10: head_max: \"miles\" is no unit of sizes; there are KiB, MiB and GiB, and octets without one"),
    ("head_max 1MiB", "1:10: head_max: use a size from 64 to 65535, not 1MiB"),
    ("memory_max 1KiB", "1:12: memory_max: use a size from 1MiB to 1024GiB, not 1KiB"),
    ("workers all", "1:9: workers: use a number from 1 to 1024, not \"all\""),
    ("workers 1025", "1:9: workers: use a number from 1 to 1024, not \"1025\""),
    ("http2 yes", "1:7: http2: use on or off, not \"yes\""),
    ("backend select", "1:9: backend: use auto, epoll, uring or kqueue, not \"select\""),
    ("tls_oldest 1.1", "1:12: tls_oldest: use 1.2 or 1.3, not \"1.1\""),
    ("access_log stdout full", "1:19: access_log: use short, common, combined or json, not \"full\""),
    ("log_masks token a=b", "1:17: log_masks: \"a=b\" is no name of a parameter, as token is"),
    ("access_log off json", "1:16: a log that is off has no format; leave \"json\" out"),
    ("access_log none/a.log", "1:12: the log none/a.log cannot be written: its folder is missing"),
    ("access_log pub", "1:12: the log pub cannot be written: it is a folder"),
    ("trusted_proxies via 10.0.0.0/8", "1:17: trusted_proxies: use forwarded, x-forwarded or proxy, not \"via\""),
    ("trusted_proxies forwarded 10.0.0.0/33", "1:27: \"10.0.0.0/33\" is no network; there are 10.0.0.0/8, 192.0.2.7, fd00::/8 and unix"),
    ("trusted_proxies forwarded proxy.example", "1:27: \"proxy.example\" is no network; there are 10.0.0.0/8, 192.0.2.7, fd00::/8 and unix"),
    ("trusted_proxies forwarded" + " ::1" * 65, "1:283: 64 networks are the most"),
    ("ticket_keys none.key", "1:13: there is no permission to read none.key, or no such file"),
    ("ticket_keys short.key", "1:13: short.key has 79 octets; ticket keys have 80 each"),
]

ADDRESSES = [
    ("listen 80", "1:8: \"80\" names no address; :80 is every one of this machine, and 127.0.0.1:80 for itself alone"),
    ("listen 127.0.0.1", "1:8: \"127.0.0.1\" has no port from 0 to 65535; an address is written 127.0.0.1:80"),
    ("listen :65536", "1:8: \":65536\" has no port from 0 to 65535; an address is written 127.0.0.1:80"),
    ("listen [::1]", "1:8: \"[::1]\" has no port from 0 to 65535; an address is written [::1]:80"),
    ("listen example.org:80",
     "1:8: \"example.org\" is not an address; there are 192.0.2.1:80, [2001:db8::1]:80, :80, localhost:80, unix:/path and fd:3"),
    ("listen unix:skua.sock", "1:8: the path of a socket begins with \"/\": unix:/run/skua.sock"),
    ("listen :80 ssl", "1:12: behind the address there may be tls, not \"ssl\""),
    ("listen :80\nlisten :80", "2:8: :80 is listened on already, by line 1 of f.conf"),
]

SITES = [
    ("site a {\n root pub\n rewrite /x\n}", "3:2: it is written rewrite FROM TO, as in: rewrite \"/posts/{name}\" \"/blog/{name}.html\""),
    ("site a {\n root pub\n rewrite x /y\n}", "3:10: the path of a rewrite begins with \"/\", unlike \"x\""),
    ("site a {\n root pub\n rewrite /x https://b.test/y\n}",
     "3:13: a rewrite leads to files at another path of the site, /path, not to \"https://b.test/y\""),
    ("site a {\n root pub\n rewrite /x /y?a\n}", "3:13: a path is written decoded; the query stays that of the request"),
    ("site a {\n root pub\n rewrite /x /a/../b\n}", "3:13: \"/a/../b\" is no path; it is written without // and /../"),
    ("site a {\n root pub\n rewrite \"/x/{a}\" \"/{b}\"\n}", "3:19: {b} is not a part of /x/{a}"),
    ("site a {\n root pub\n redirect /x /y\n rewrite /x /z\n}", "4:10: /x is redirected by line 3 of f.conf already"),
    ("site a {\n rewrite /x /y\n redirect /z /y\n}", "2:10: no root has files at /y"),
    ("site a {\n root pub\n try\n}", "3:2: it is written try PATH...|off, as in: try \"{path}.html\" /index.html"),
    ("site a {\n root pub\n try off /a\n}", "3:6: off stands alone: it takes the place of all paths"),
    ("site a {\n root pub\n try \"{path}\" /a\n}", "3:6: {path} itself comes first always; leave it out"),
    ("site a {\n root pub\n try \"{file}.html\"\n}", "3:6: in \"{file}.html\" there may be {path} once, and no other part"),
    ("site a {\n root pub\n try \"/{path}/{path}\"\n}", "3:6: in \"/{path}/{path}\" there may be {path} once, and no other part"),
    ("site a {\n root pub\n try index.html\n}", "3:6: what is tried begins with \"/\" or {path}: /index.html"),
    ("site a {\n root pub\n try /../a\n}", "3:6: try takes paths of files below the root, as /index.html, not \"/../a\""),
    ("site a {\n root pub\n path /b/ {\n  try /a\n }\n}", "4:3: try is about the files of a root; this path needs a root of its own for it"),
    ("site a {\n root pub\n bearer_auth API\n}", "3:14: it is written bearer_auth REALM FILE|off, as in: bearer_auth API /etc/skua/api.tokens"),
    ("site a {\n root pub\n bearer_auth API none\n}", "3:18: the users of none cannot be read, or have more than 1048576 octets"),
    ("site a {\n root pub\n bearer_auth API file\n}", "3:18: file has no tokens"),
    ("site a {\n root pub\n bearer_auth API a.conf\n}", "a.conf:1:1: a line is NAME:HASH, with both of them"),
    ("site a {\n root pub\n bearer_auth API who.conf\n}",
     "who.conf:1:1: anna has no hash of a token, 64 digits of 0 to 9 and a to f; skua token makes both"),
    ("site a {\n root pub\n basic_auth a who.conf\n path /b/ {\n  bearer_auth API a.tokens\n }\n}",
     "5:3: a request has one Authorization field, and basic_auth in line 3 of f.conf uses it; basic_auth off takes that away here"),
    ("site a {\n root pub\n method PUT {\n  basic_auth a who.conf\n }\n bearer_auth API a.tokens\n}",
     "6:2: a request has one Authorization field, and basic_auth in line 4 of f.conf uses it; basic_auth off takes that away here"),
    ("site a {\n root pub\n method {\n }\n}", "3:2: it is written method METHOD... {, as in: method PUT DELETE {"),
    ("site a {\n root pub\n method put {\n }\n}", "3:9: \"put\" is no method; did you mean PUT?"),
    ("site a {\n root pub\n method PUTS {\n }\n}", "3:9: \"PUTS\" is no method; did you mean PUT?"),
    ("site a {\n root pub\n method 1 {\n }\n}", "3:9: \"1\" is no method; it has capital letters alone, as PUT"),
    ("site a {\n root pub\n method PUT {\n }\n method DELETE PUT {\n }\n}", "5:16: PUT has a block in line 3 of f.conf already"),
    ("site a {\n root pub\n method HEAD {\n }\n method GET {\n }\n}", "5:9: GET has a block in line 3 of f.conf already; GET has HEAD with it"),
    ("site a {\n root pub\n method GET {\n }\n method HEAD {\n }\n}", "5:9: HEAD has a block in line 3 of f.conf already; GET has HEAD with it"),
    ("site a {\n root pub\n method PUT {\n  cache 1h\n }\n}", "4:3: cache does not stand in a block of methods, but in defaults, directly in a site or in the block of a path"),
    ("site a {\n root pub\n method PUT {\n  method GET {\n  }\n }\n}",
     "4:3: method does not stand in a block of methods, but in defaults, directly in a site or in the block of a path"),
    ("allow 10.0.0.0/8", "1:1: allow does not stand outside of blocks, but in defaults, directly in a site, in the block of a path or in a block of methods"),
    ("site a {\n root pub\n method PUT {\n  limit_requests off\n }\n}",
     "4:18: limits add up, so that none can be taken away; put this one where it is to hold"),
    ("site a {\n root pub\n header X-A\n}", "3:2: it is written header NAME VALUE|off, as in: header X-Robots-Tag noindex"),
    ("site a {\n root pub\n header \"X A\" b\n}", "3:9: \"X A\" is no name of a field; there is X-Robots-Tag"),
    ("site a {\n root pub\n header cache-control no-store\n}", "3:9: Cache-Control is set by cache"),
    ("site a {\n root pub\n header Content-Length 5\n}", "3:9: Content-Length is the server's to set, as the content demands"),
    ("site a {\n root pub\n error_page 200 pub/a.html\n}", "3:17: the page pub/a.html cannot be read, or has more than 65536 octets"),
    ("site a {\n root pub\n error_page 200 pub/index.html\n}", "3:13: error_page: use a number from 400 to 599, not \"200\""),
    ("site a {\n root pub\n error_page 500 pub\n}", "3:17: error_page: the page is a file that ends with .html, .json or .txt, not \"pub\""),
    ("site a {\n root pub\n limit_connections 0\n}", "3:20: limit_connections: use a number from 1 to 1000000, not \"0\""),
    ("site a {\n root pub\n limit_connections off\n}", "3:20: limits add up, so that none can be taken away; put this one where it is to hold"),
    ("site a {\n root pub\n limit_bandwidth 1MiB\n}", "3:18: limit_bandwidth: use octets per second, such as 10MiB/s, not \"1MiB\""),
    ("site a {\n root pub\n limit_bandwidth 1MB/s\n}", "3:18: limit_bandwidth: \"1MB\" can be read with 1000 and with 1024; for 1024 write 1MiB"),
    ("site a {\n root pub\n log some\n}", "3:6: log: use on, errors or off, not \"some\""),
    ("site a {\n root pub\n maintenance\n}", "3:2: it is written maintenance FILE, as in: maintenance /run/skua/closed"),
    ("site a {\n root pub\n path /b/ {\n maintenance c\n }\n}", "4:2: maintenance does not stand in the block of a path, but directly in a site"),
    ("site a.test:80 {\n root pub\n}", "1:6: a host is named without a port, which listen names; write a.test"),
    ("site https://a.test/ {\n root pub\n}", "1:6: a site is named by its host alone; write a.test"),
    ("site ::1 {\n root pub\n}", "1:6: an address of IPv6 stands in brackets: [::1]"),
    ("site a.*.test {\n root pub\n}",
     "1:6: \"a.*.test\" is no host; there are example.org, *.example.org, an address, and * for every other one"),
    ("site a..test {\n root pub\n}",
     "1:6: \"a..test\" is no host; there are example.org, *.example.org, an address, and * for every other one"),
    ("site a A {\n root pub\n}", "1:8: a is named twice"),
    ("site a b {\n root pub\n}\nsite c B {\n root pub\n}", "4:8: b is a host of the site in line 1 of f.conf already"),
    ("site a {\n}", "1:1: this site has nothing to serve: a root or a redirect is missing"),
    ("site a {\n root none\n}", "2:7: there is no folder none"),
    ("site a {\n root file\n}", "2:7: file is a file; root takes a folder"),
    ("site a {\n root pub\n index a/b.html\n}", "3:8: index takes the name of a file in each folder, as index.html, not \"a/b.html\""),
    ("site a {\n root pub\n links some\n}", "3:8: links: use inside, none or all, not \"some\""),
    ("site a {\n root pub\n not_found /404.html\n}",
     "3:12: not_found takes the path of a page below the root, as errors/404.html, not \"/404.html\""),
    ("site a {\n root pub\n not_found ../404.html\n}",
     "3:12: not_found takes the path of a page below the root, as errors/404.html, not \"../404.html\""),
    ("site a {\n root pub\n spa index.html\n}", "3:6: spa: use on or off, not \"index.html\""),
    ("site a {\n root pub\n try_files a b\n}", "3:2: there is no directive \"try_files\"; did you mean try?"),
    ("site a {\n root pub\n path b/ {\n }\n}", "3:7: a path begins with \"/\": path /b/"),
    ("site a {\n root pub\n path /b {\n }\n}", "3:7: a path has all that is below it, and ends with \"/\": path /b/"),
    ("site a {\n root pub\n path ~ /b/ {\n }\n}", "3:7: before a path there may be =, which is for that path alone"),
    ("site a {\n root pub\n path = b {\n }\n}", "3:9: a path begins with \"/\": path /b/"),
    ("site a {\n root pub\n path = /b {\n  root pub\n }\n}", "4:8: a root has all that is below its path; leave out the \"=\" before /b"),
    ("site a {\n root pub\n path = /b {\n }\n path = /b {\n }\n}", "5:9: path /b of this site is in line 3 of f.conf already"),
    ("site a {\n root pub\n allow all\n}", "3:8: \"all\" is no network; there are 10.0.0.0/8, 192.0.2.7, fd00::/8 and unix"),
    ("site a {\n root pub\n deny 10.0.0.0/33\n}",
     "3:7: \"10.0.0.0/33\" is no network; there are 10.0.0.0/8, 192.0.2.7, fd00::/8 and unix, and all alone"),
    ("site a {\n root pub\n path / {\n }\n}", "3:7: the path / is the whole site; put this into the site itself"),
    ("site a {\n root pub\n path /b/../c/ {\n }\n}", "3:7: \"/b/../c/\" is no path; it is written decoded, without //, /../ and patterns"),
    ("site a {\n root pub\n path /b/ {\n }\n path /b/ {\n }\n}", "5:7: path /b/ of this site is in line 3 of f.conf already"),
    ("site a {\n root pub\n path /b/ {\n  listing on\n }\n}",
     "4:3: listing is about the files of a root; this path needs a root of its own for it"),
    ("site a {\n canonical a.test\n}", "2:12: canonical takes a scheme and a host, as https://example.org, not \"a.test\""),
    ("site a {\n canonical https://a.test/x\n}", "2:12: canonical takes a scheme and a host without a path; write https://a.test"),
    ("site a {\n root pub\n redirect / /b\n}",
     "3:11: this redirect is for the same paths as the root in line 2, which gets their requests"),
    ("site a {\n path /c/ {\n  root pub\n }\n redirect \"/c/{x...}\" /b\n}",
     "5:11: this redirect is for the same paths as the root in line 3, which gets their requests"),
    ("site a {\n redirect a /b\n}", "2:11: the path of a redirect begins with \"/\", unlike \"a\""),
    ("site a {\n redirect /a b\n}", "2:14: a redirect goes to /path or to https://host/path, not to \"b\""),
    ("site a {\n redirect /a //b.test/\n}", "2:14: a path begins with one \"/\"; another host needs its scheme: https://b.test/"),
    ("site a {\n redirect /a /b 200\n}", "2:17: redirect: use 301, 302, 303, 307 or 308, not \"200\""),
    ("site a {\n redirect \"/a/{x}\" \"/b/{y}\"\n}", "2:20: {y} is not a part of /a/{x}"),
    ("site a {\n redirect \"/a/{x}\" \"https://{x}.test/\"\n}",
     "2:20: a part of the path cannot stand in the host; put it behind the first \"/\""),
    ("site a {\n root pub\n type md text/markdown\n}", "3:7: type takes the ending of names, as .md, not \"md\""),
    ("site a {\n root pub\n type .md markdown\n}", "3:11: \"markdown\" is no media type; there is text/markdown"),
    ("site a {\n root pub\n type .md \"text/a, text/b\"\n}", "3:11: \"text/a, text/b\" is no media type; there is text/markdown"),
    ("site a {\n root pub\n" + " type .a text/a\n" * 65 + "}", "67:7: a scope has at most 64 types"),
    ("site a {\n root pub\n preload /a\n}",
     "3:10: it is written preload PATH style|script|font|image|fetch, or off, as in: preload /style.css style"),
    ("site a {\n root pub\n preload a.css style\n}", "3:10: preload takes the path of a file as a page names it, encoded, not \"a.css\""),
    ("site a {\n root pub\n preload //b/a.css style\n}",
     "3:10: preload takes the path of a file as a page names it, encoded, not \"//b/a.css\""),
    ("site a {\n root pub\n preload /a> style\n}", "3:10: preload takes the path of a file as a page names it, encoded, not \"/a>\""),
    ("site a {\n root pub\n preload /a css\n}", "3:13: preload: use style, script, font, image or fetch, not \"css\""),
    ("site a {\n root pub\n" + " preload /a style\n" * 17 + "}", "19:10: a scope has at most 16 preloads"),
    ("site a {\n root pub\n etag weak\n}", "3:7: etag: use auto, content, stat or off, not \"weak\""),
    ("site a {\n root pub\n path /b/ {\n  etag off\n }\n}",
     "4:3: etag is about the files of a root; this path needs a root of its own for it"),
    ("site a {\n types {\n }\n}", "2:2: there is no directive \"types\"; did you mean type?"),
    ("site a {\n root pub\n hsts 1m\n}", "3:7: hsts: \"1m\" can be read as minutes and as mebibytes; for minutes write 1min"),
    ("site a {\n root pub\n hsts 500ms\n}", "3:7: hsts: use a duration from 1s to 3650d, not 500ms"),
    ("site a {\n root pub\n cache forever\n}", "3:8: cache is written immutable|no-cache|no-store|DURATION|off, not \"forever\""),
    ("site a {\n root pub\n cache 1500ms\n}", "3:8: cache: browsers know whole seconds alone"),
    ("site a {\n root pub\n cors app.test\n}", "3:7: an origin has a scheme and a host, as https://app.example.org, not \"app.test\""),
    ("site a {\n root pub\n cors https://a.test/\n}", "3:7: an origin ends behind its host and port; write https://a.test"),
    ("site a {\n root pub\n cors https://a.test *\n}", "3:22: * stands alone: it takes the place of all origins"),
    ("site a {\n root pub\n limit_requests 50\n}",
     "3:17: limit_requests: a rate is a number from 1 to 1000000 with /s, /min or /h, as 50/s is; \"50\" is none"),
    ("site a {\n root pub\n limit_requests 50/m\n}",
     "3:17: limit_requests: \"50/m\" can be read as for a minute and for a month; for a minute write 50/min"),
    ("site a {\n root pub\n limit_requests 50/s burst\n}", "3:22: burst lacks its number: limit_requests 50/s burst 100"),
    ("site a {\n root pub\n limit_requests 50/s up 9\n}", "3:22: behind the rate there may be burst and a number, not \"up\""),
    ("site a {\n root pub\n basic_auth Staff\n}",
     "3:13: it is written basic_auth REALM FILE|off, as in: basic_auth \"Staff only\" /etc/skua/staff.htpasswd"),
    ("site a {\n root pub\n basic_auth \"\\\"\" users\n}",
     "3:13: a realm has 1 to 100 characters of ASCII, no quotation marks and no \"\\\""),
    ("site a {\n root pub\n basic_auth a none\n}", "3:15: the users of none cannot be read, or have more than 1048576 octets"),
    ("site a {\n root pub\n basic_auth a pub\n}", "3:15: the users of pub cannot be read, or have more than 1048576 octets"),
    ("site a {\n root pub\n limit_requests off\n}",
     "3:17: limits add up, so that none can be taken away; put this one where it is to hold"),
]

# Files of users, by what is in them; the place is theirs.
HASH = "$2y$10$" + "a" * 53
USERS = [
    ("", "f.conf:2:15: users has no users"),
    ("# nobody\n\n", "f.conf:2:15: users has no users"),
    ("anna\n", "users:1:1: a line is NAME:HASH, with both of them"),
    (f":{HASH}\n", "users:1:1: a line is NAME:HASH, with both of them"),
    (f"anna:{HASH}\n\nanna:{HASH}\n", "users:3:1: anna has a line before this one"),
    (f"anna:{HASH[:-1]}\n", "users:1:1: the hash of anna is incomplete: a hash of bcrypt has 60 characters"),
    (f"anna:{HASH}\nbert:$apr1$abc$def\n", "users:2:1: the password of bert is hashed by MD5 (of Apache); only bcrypt is accepted: skua passwd"),
    ("anna:rqXexS6ZhobKA\n", "users:1:1: the password of anna is hashed by DES; only bcrypt is accepted: skua passwd"),
    ("anna:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n", "users:1:1: the password of anna is hashed by SHA-1; only bcrypt is accepted: skua passwd"),
    ("anna:$6$abc$def\n", "users:1:1: the password of anna is hashed by SHA-512; only bcrypt is accepted: skua passwd"),
    ("anna:$2x$10$" + "a" * 53, "users:1:1: the password of anna is hashed by bcrypt with a known fault; only bcrypt is accepted: skua passwd"),
    ("anna:secret", "users:1:1: the password of anna is hashed by an unknown method; only bcrypt is accepted: skua passwd"),
    (f"anna:{HASH[:-1]}!", "users:1:1: the password of anna is hashed by an unknown method; only bcrypt is accepted: skua passwd"),
    ("anna:$2b$03$" + "a" * 53, "users:1:1: the password of anna is hashed by an unknown method; only bcrypt is accepted: skua passwd"),
]

# Of the whole, behind WHOLE.
WHOLES = [
    ("site b {\n redirect \"/a/{x\" /b\n}",
     "6:11: route \"/a/{x\": \"{x\" is partly a parameter: a parameter is a whole segment, \"{name}\", and the handler looks at what it holds"),
    ("site b {\n redirect /a /b\n redirect /a /c\n}", "7:11: route \"/a\": \"/a\" matches the same requests"),
    ("site b {\n redirect \"/{x}/b\" /b\n redirect \"/a/{y}\" /b\n}",
     "7:11: route \"/a/{y}\": \"/{x}/b\" matches some of the same requests, and neither is more specific"),
    ("listen 127.0.0.1:0 tls", "5:8: TLS needs a certificate, and no site has one"),
]


def expected(message):
    return message if message.split(":")[0].endswith(".conf") else "f.conf:" + message


@pytest.mark.parametrize("text,message", GRAMMAR + INCLUDES + NAMES + VALUES + ADDRESSES + SITES)
def test_one_sentence(folder, text, message):
    assert check(folder, text) == (1, "", expected(message) + "\n")


@pytest.mark.parametrize("text,message", WHOLES)
def test_one_sentence_about_the_whole(folder, text, message):
    assert check(folder, WHOLE + text) == (1, "", f"f.conf:{message}\n")


@pytest.mark.parametrize("text,message", USERS)
def test_one_sentence_about_users(folder, text, message):
    (folder / "users").write_text(text)
    assert check(folder, "site a {\n basic_auth a users\n root pub\n}\n") == (1, "", message + "\n")


def test_right_users(folder):
    (folder / "users").write_text(f"# comment\r\nanna:{HASH}\r\nbert:{HASH.replace('2y', '2a')}")
    text = "listen :0\nsite a {\n basic_auth a users\n root pub\n path /b/ {\n  basic_auth off\n }\n method GET PUT {\n  basic_auth off\n }\n}\n"
    assert check(folder, text) == (0, "f.conf:9:3: note: / of a needs no password of outer blocks for GET HEAD PUT\n"
                                      "f.conf:6:3: note: /b/ of a needs no password of outer blocks\n"
                                      "f.conf: 1 site, 1 address, no faults\n", "")


def test_what_is_only_noted(folder):
    port = free_port()  # that nobody takes when it is free again
    with socket.create_server(("127.0.0.1", port)):
        text = f"listen 127.0.0.1:{port}\nlisten [::1]:0\nsite a {{\n root pub\n rewrite /x /y\n rewrite /z /index.html\n}}\n"
        assert check(folder, text) == (
            0, "f.conf:5:10: note: there is no file pub/y yet\n"
               f"f.conf:1:8: note: 127.0.0.1:{port} is in use, by another program or by the server that is to read this\n"
               "f.conf: 1 site, 2 addresses, no faults\n", "")
    assert check(folder, text)[1].count("note") == 1
    with socket.create_server(("", 0)) as busy:
        for host in ("", "*", "localhost", "127.0.0.1"):
            text = f"listen {host}:{busy.getsockname()[1]}\nsite a {{\n root pub\n}}\n"
            assert (check(folder, text)[0], check(folder, text)[1].count("is in use")) == (0, 1), host


ROUND = "is one of the paths that this redirect is for, so that clients go round for ever"
SECURE = ("requests are sent to https://a, and no address here speaks TLS: a proxy in front that does is to be named by trusted_proxies, "
          "or they go round for ever")
EVERYONE = "everyone is trusted as a proxy, and so chooses the address that logs, limits and allow go by"
ADVICE = [
    ("site a {\n root pub\n redirect \"/old/{rest...}\" \"/old/new/{rest}\"\n}\n", "4:11: note: /old/new/{rest} " + ROUND),
    ("site a {\n root pub\n redirect \"/{name}\" /here?x=1\n}\n", "4:11: note: /here?x=1 " + ROUND),
    ("site a {\n root pub\n redirect \"/old/{rest...}\" \"/old/new/{rest}\"\n path /old/new/ {\n  root pub\n }\n}\n", None),
    ("site a {\n root pub\n redirect \"/{name}\" /here\n rewrite /here /index.html\n}\n", None),
    ("site a {\n root pub\n redirect \"/old/{rest...}\" \"/new/{rest}\"\n redirect \"/a/{x}\" \"/a/{x}/\"\n}\n", None),
    ("site a {\n root pub\n canonical https://a\n}\n", "2:1: note: " + SECURE),
    ("trusted_proxies forwarded 10.0.0.0/8\nsite a {\n root pub\n canonical https://a\n}\n", None),
    ("site a {\n root pub\n canonical https://elsewhere\n}\n", None),
    ("site a {\n root pub\n canonical http://a\n}\n", None),
    ("trusted_proxies forwarded 10.0.0.0/8 0.0.0.0/0\nsite a {\n root pub\n}\n", "2:1: note: " + EVERYONE),
    ("trusted_proxies proxy ::/0\nsite a {\n root pub\n}\n", "2:1: note: " + EVERYONE),
    ("trusted_proxies forwarded 0.0.0.0/1 unix\nsite a {\n root pub\n}\n", None),
    ("site a {\n root /\n}\n", "3:7: note: the root is the whole file system: each file that the server may read is sent"),
]


@pytest.mark.parametrize("text, note", ADVICE)
def test_what_nobody_wants_is_noted(folder, text, note):
    code, said, _ = check(folder, "listen 127.0.0.1:0\n" + text)
    assert code == 0 and [line for line in said.splitlines() if "note" in line] == ([f"f.conf:{note}"] if note else [])


@pytest.mark.parametrize("to", ["/x", "/x?lang=en"])
def test_a_redirect_to_itself(folder, to):
    code, _, said = check(folder, f"listen 127.0.0.1:0\nsite a {{\n root pub\n redirect /x {to}\n}}\n")
    assert code == 1 and "f.conf:4:11: this redirect leads to itself" in said


def test_eighty():
    assert len(GRAMMAR + INCLUDES + NAMES + VALUES + ADDRESSES + SITES + WHOLES) >= 80


def test_what_is_missing(folder):
    assert check(folder, "")[2] == "f.conf:1:1: there is no address to listen on: listen :80\n" \
                                   "f.conf:1:1: there is no site; site * { has every host\n"


def test_several_at_once(folder):
    status, _, err = check(folder, "lisen :80\nhead_max 5m\nsite a {\n root none\n path /b {\n }\n}\nworkers 0\n")
    assert status == 1
    assert [line.split(": ")[0] for line in err.splitlines()] == ["f.conf:1:1", "f.conf:2:10", "f.conf:8:9", "f.conf:4:7", "f.conf:5:7"]


def test_right(folder):
    assert check(folder, WHOLE) == (0, "f.conf: 1 site, 1 address, no faults\n", "")
    (folder / "ok").mkdir()
    for name in "ab":
        (folder / "ok" / f"{name}.conf").write_text(f"site {name}.test {{\n root ../pub\n}}\n")
    text = "include ok/*.conf\ninclude ok/x*.conf\nlisten :${PORT}\nlisten unix:/run/x\n"
    assert check(folder, text, env={"PORT": "0"}) == (0, "f.conf: 2 sites, 2 addresses, no faults\n", "")


# ---- Limits, at their edges ----


@pytest.mark.parametrize(
    "count,text,message", [
        (16, "listen :0\n", "17:8: listen may stand 16 times"),
        (1000 - 1, "include empty.conf\n", "1000:9: there are more than 1000 files"),
    ],
)
def test_counts(folder, count, text, message):
    (folder / "empty.conf").write_text("")
    rest = "listen unix:/run/x\n" * ("listen" not in text) + "site * {\n root pub\n}\n"
    assert check(folder, text * count + rest)[0] == 0
    assert check(folder, text * (count + 1) + rest) == (1, "", f"f.conf:{message}\n")


def test_the_size_of_a_file(folder):
    assert check(folder, WHOLE + "#" * ((1 << 20) - len(WHOLE)))[0] == 0
    assert check(folder, WHOLE + "#" * ((1 << 20) - len(WHOLE) + 1))[2] == "f.conf:1:1: \"f.conf\" has more than 1048576 octets\n"


def test_limits_and_passwords_of_a_site(folder):
    text = "listen :0\nsite * {\n root pub\n canonical http://a\n preload /a style\n limit_requests 1/s\n%s}\n"
    paths = " path /%d/ {\n  limit_requests 1/s\n }\n"
    assert check(folder, text % "".join(paths % i for i in range(59)))[0] == 0
    status, _, err = check(folder, text % "".join(paths % (100 + i) for i in range(60)))
    assert (status, err) == (1, "f.conf:184:7: a site and its paths may have 60 limits and passwords together\n")


def test_many_faults(folder):
    status, _, err = check(folder, "site a {\n root pub\n" + " certificate\n" * 101 + "}\n")
    assert status == 1 and err.count("\n") == 101 and err.endswith("and 1 more\n")
    status, _, err = check(folder, "site a {\n root pub\n" + " certificate a.pem\n" * 257 + "}\n")
    assert (status, err) == (1, "f.conf:259:2: all sites together may have 256 of certificate\n")


def test_no_file(folder):
    assert check(folder, name="none") == (1, "", "none:1:1: \"none\": there is no such file\n")


def run(*words, cwd=None):
    done = subprocess.run([SKUA, *words], cwd=cwd, capture_output=True, text=True, timeout=20, check=False, stdin=subprocess.DEVNULL)
    check_sanitizers(done.stderr)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "words,sentence", [
        (["check"], "skua: check needs a file: skua check -c FILE; ./check is the directory\n"),
        (["check", "-c"], "skua: check needs a file: skua check -c FILE; ./check is the directory\n"),
        (["check", "-c", "a", "-cb"], "skua: check needs a file: skua check -c FILE; ./check is the directory\n"),
        (["check", "pub", "-c", "a"], "skua: check needs a file: skua check -c FILE; ./check is the directory\n"),
        (["check", "--port", "80", "-c", "a"], "skua: skua check has no option --port; it takes -c FILE\n"),
        (["passwd", "-c", "a"], "skua: skua passwd has no option -c; it takes FILE NAME\n"),
        (["-c"], "skua: --config needs a value: --config FILE\n"),
        (["-c", "f.conf", "pub"], "skua: -c f.conf says what is served; leave pub out\n"),
        (["-c", "f.conf", "--port", "80"], "skua: -c f.conf takes the place of all options; leave --port out\n"),
        (["-c", "a", "-c", "b"], "skua: one file can be served, not both a and b; a file can include others\n"),
    ],
)
def test_command_line(folder, words, sentence):
    assert run(*words, cwd=folder) == (2, sentence)


@pytest.mark.parametrize("words", [["check", "-c", "f.conf"], ["check", "-cf.conf"], ["check", "--config", "f.conf"], ["check", "--config=f.conf"]])
def test_ways_to_name_the_file(folder, words):
    (folder / "f.conf").write_text("listen :0\nsite * {\n root pub\n}\n")
    assert run(*words, cwd=folder)[0] == 0


def test_a_command_says_how_it_is_used():
    done = subprocess.run([SKUA, "explain", "--help"], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == "usage: skua explain [METHOD] URL -c FILE, to show which directives apply to URL, and the response\n"


# ---- Certificates ----


@pytest.fixture(scope="module")
def pairs(folder):
    return [make(folder, name) for name in ("one", "two")]


TLS = "listen :0 tls\nsite a.test {\n root pub\n %s\n}\n"


@pytest.mark.of_tls
@pytest.mark.parametrize(
    "line,message", [
        ("certificate none.pem", "4:14: cannot read the certificate none.pem: there is no such file"),
        ("certificate {one} {two_key}", "4:14: the key two.key does not belong to the certificate one.pem"),
        ("certificate {one} none.key", "4:14: cannot read the key none.key: there is no such file"),
        ("certificate file", "4:14: the certificate file has no certificate in PEM"),
        ("certificate {one} {one_key}\n client_certificates none.pem required",
         "4:14: cannot read the authorities for clients none.pem: there is no such file"),
        ("client_certificates {one} required", "4:22: client certificates need a certificate of the site, and this site has none"),
        ("client_certificates {one} always", "4:30: client_certificates: use optional or required, not \"always\""),
    ],
)
def test_certificates(folder, pairs, line, message):
    for name, pair in zip(("one", "two"), pairs):
        line = line.replace(f"{{{name}}}", os.path.relpath(pair.cert, folder)).replace(f"{{{name}_key}}", os.path.relpath(pair.key, folder))
    status, _, err = check(folder, TLS % line)
    assert status == 1 and err.count("\n") == 1 and err.startswith("f.conf:" + message)
