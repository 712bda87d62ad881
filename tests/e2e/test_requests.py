# SPDX-License-Identifier: MIT
"""Reading a request: what is refused, with which status, and that the next connection is served."""

import pytest
from tls import HTTP2
from wire import chunk, request

BARE = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"

REFUSED = [
    # 9112 section 2.2: line endings
    ("bare LF in the request line", b"GET / HTTP/1.1\nHost: localhost\r\n\r\n", 400),
    ("bare LF in a field line", b"GET / HTTP/1.1\r\nHost: localhost\nA: b\r\n\r\n", 400),
    ("bare LF as the empty line", b"GET / HTTP/1.1\r\nHost: localhost\r\n\n", 400),
    ("bare CR in a value", BARE + b"A: b\rc\r\n\r\n", 400),
    ("CR CR LF", BARE + b"A: b\r\r\n\r\n", 400),
    ("space before the first field", b"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n", 400),
    # 9112 section 3: request line
    ("two spaces", b"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("tab for space", b"GET\t/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("trailing space", b"GET / HTTP/1.1 \r\nHost: localhost\r\n\r\n", 400),
    ("leading space", b" GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("no version", b"GET /\r\nHost: localhost\r\n\r\n", 400),
    ("method with a colon", b"G:T / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("empty method", b" / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("lower-case http", b"GET / http/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("version 1.10", b"GET / HTTP/1.10\r\nHost: localhost\r\n\r\n", 400),
    ("version 1", b"GET / HTTP/1\r\nHost: localhost\r\n\r\n", 400),
    ("version 2.0", b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 505),
    ("version 0.9", b"GET / HTTP/0.9\r\nHost: localhost\r\n\r\n", 505),
    ("version 3.1", b"GET / HTTP/3.1\r\nHost: localhost\r\n\r\n", 505),
    ("method longer than any", b"UPDATEREDIRECTREFS / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501),
    ("method that fills the head", b"A" * 16340 + b" / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501),
    # 9112 section 3.2: targets
    ("fragment", b"GET /a#b HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("no slash", b"GET a HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("octet over 127", b"GET /\xe9 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("octet over 127 in the query", b"GET /?\xe9 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("overlong UTF-8", b"GET /\xc0\xaf HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("surrogate", b"GET /?\xed\xa0\x80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("backslash in the path", b"GET /a\\b HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("quote", b'GET /" HTTP/1.1\r\nHost: localhost\r\n\r\n', 400),
    ("quote in the query", b'GET /?x="a" HTTP/1.1\r\nHost: localhost\r\n\r\n', 400),
    ("angle bracket", b"GET /<a> HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("angle bracket in the query", b"GET /?<a> HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("broken percent", b"GET /%g0 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("percent at the end", b"GET /a% HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("percent and one digit", b"GET /a%2 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("encoded NUL", b"GET /a%00b HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("NUL", b"GET /a\x00b HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("DEL", b"GET /a\x7fb HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("asterisk with GET", b"GET * HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("userinfo", b"GET http://u@localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ("absolute without an authority", b"GET http:/// HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    # 9112 section 3.2: Host
    ("Host missing", b"GET / HTTP/1.1\r\n\r\n", 400),
    ("Host repeated", BARE + b"Host: localhost\r\n\r\n", 400),
    ("Host repeated in 1.0", b"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    ("Host with a space", b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ("Host with a slash", b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    ("Host with userinfo", b"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400),
    ("Host with a bad port", b"GET / HTTP/1.1\r\nHost: a:8x\r\n\r\n", 400),
    ("Host a list", b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
    ("Host missing though absolute", b"GET http://localhost/ HTTP/1.1\r\n\r\n", 400),
    # 9112 section 5: fields
    ("obs-fold", BARE + b"A: b\r\n c\r\n\r\n", 400),
    ("obs-fold by tab", BARE + b"A: b\r\n\tc\r\n\r\n", 400),
    ("space before the colon", BARE + b"A : b\r\n\r\n", 400),
    ("no colon", BARE + b"Abc\r\n\r\n", 400),
    ("empty name", BARE + b": b\r\n\r\n", 400),
    ("name with a bracket", BARE + b"A[]: b\r\n\r\n", 400),
    ("name over 127", BARE + b"\xc4: b\r\n\r\n", 400),
    ("NUL in a value", BARE + b"A: b\x00c\r\n\r\n", 400),
    ("control in a value", BARE + b"A: b\x01c\r\n\r\n", 400),
    ("DEL in a value", BARE + b"A: b\x7fc\r\n\r\n", 400),
    # 9112 section 6: framing
    ("length repeated, equal", POST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\na", 400),
    ("length repeated, other", POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
    ("length a list", POST + b"Content-Length: 1, 1\r\n\r\na", 400),
    ("length signed", POST + b"Content-Length: +1\r\n\r\na", 400),
    ("length negative", POST + b"Content-Length: -1\r\n\r\na", 400),
    ("length hexadecimal", POST + b"Content-Length: 0x1\r\n\r\na", 400),
    ("length empty", POST + b"Content-Length:\r\n\r\n", 400),
    ("length with a space inside", POST + b"Content-Length: 1 1\r\n\r\na", 400),
    ("length past 64 bits", POST + b"Content-Length: 18446744073709551617\r\n\r\na", 400),
    ("length and coding", POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("coding and length", POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400),
    ("coding in 1.0", b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("coding not ending in chunked", POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n", 400),
    ("coding gzip alone", POST + b"Transfer-Encoding: gzip\r\n\r\n", 400),
    ("chunked twice", POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
    ("chunked twice in two lines", POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("chunked with a parameter", POST + b"Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n", 400),
    ("coding with a control before it", POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", 400),
    ("coding empty", POST + b"Transfer-Encoding:\r\n\r\n0\r\n\r\n", 400),
    ("gzip before chunked", POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    ("unknown coding before chunked", POST + b"Transfer-Encoding: nope\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
    # 9112 section 7.1: chunks
    ("chunk size not a number", CHUNKED + b"x\r\na\r\n0\r\n\r\n", 400),
    ("chunk size empty", CHUNKED + b"\r\na\r\n0\r\n\r\n", 400),
    ("chunk size signed", CHUNKED + b"+1\r\na\r\n0\r\n\r\n", 400),
    ("chunk size 0x", CHUNKED + b"0x1\r\na\r\n0\r\n\r\n", 400),
    ("chunk size with a space before", CHUNKED + b" 1\r\na\r\n0\r\n\r\n", 400),
    ("chunk size with a space after", CHUNKED + b"1 \r\na\r\n0\r\n\r\n", 400),
    ("chunk size too large", CHUNKED + b"10000000000000001\r\na\r\n0\r\n\r\n", 400),
    ("chunk size ended by LF", CHUNKED + b"1\na\r\n0\r\n\r\n", 400),
    ("chunk ended by LF", CHUNKED + b"1\r\na\n0\r\n\r\n", 400),
    ("chunk too long", CHUNKED + b"1\r\nab\r\n0\r\n\r\n", 400),
    ("chunk extension with a bare CR", CHUNKED + b"1;a\rb\r\na\r\n0\r\n\r\n", 400),
    ("chunk extension ending in white space", CHUNKED + b"1;a \r\na\r\n0\r\n\r\n", 400),
    ("chunk extension with LF", CHUNKED + b"1;a\nb\r\na\r\n0\r\n\r\n", 400),
    ("chunk extension without a name", CHUNKED + b"1;=a\r\na\r\n0\r\n\r\n", 400),
    ("chunk extension with NUL", CHUNKED + b"1;a\x00\r\na\r\n0\r\n\r\n", 400),
    ("last chunk ended by LF", CHUNKED + b"0\n\r\n", 400),
    # 9112 section 7.1.2: trailers
    ("bare LF in a trailer", CHUNKED + b"0\r\nA: b\n\r\n", 400),
    ("trailer without a colon", CHUNKED + b"0\r\nAb\r\n\r\n", 400),
    ("NUL in a trailer", CHUNKED + b"0\r\nA: \x00\r\n\r\n", 400),
    ("framing in a trailer", CHUNKED + b"0\r\nContent-Length: 1\r\n\r\n", 400),
    ("coding in a trailer", CHUNKED + b"0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("routing in a trailer", CHUNKED + b"0\r\nHost: other\r\n\r\n", 400),
    ("authentication in a trailer", CHUNKED + b"0\r\nAuthorization: x\r\n\r\n", 400),
    # 9110 section 10.1.1
    ("another expectation", POST + b"Expect: 200-ok\r\nContent-Length: 1\r\n\r\na", 417),
    # Other protocols
    ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 40, 400),
]


# Those that can be said in HTTP/2, and are refused by a response there too: targets and another expectation.
SAID_OTHERWISE = pytest.mark.of_http1("HTTP/2 has no words for it, or resets the stream: test_h2.py")
ALIKE = {"fragment", "octet over 127", "octet over 127 in the query", "overlong UTF-8", "surrogate", "backslash in the path",
         "quote", "quote in the query", "angle bracket", "angle bracket in the query", "broken percent", "percent at the end",
         "percent and one digit", "encoded NUL", "asterisk with GET", "another expectation", "method longer than any"}


@pytest.mark.parametrize("octets,status", [
    pytest.param(octets, status, id=name, marks=[] if name in ALIKE else SAID_OTHERWISE) for name, octets, status in REFUSED
])
@pytest.mark.parametrize("size", [None, 1], ids=["whole", "split"])
def test_refused(echo, octets, status, size):
    with echo.connect() as connection:
        try:
            connection.send(octets) if size is None else connection.send_split(octets)
        except ConnectionError:
            pass  # refused before its end; the answer is still there
        response = connection.response()
        assert response.status == status
        assert HTTP2 or (response.closes and connection.ended())
    assert echo.get("/").status == 200


ACCEPTED = [
    ("any token is a method", b"b!#$%&'*+-.^_`|~9 / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("HTTP/1.2 is 1.1", b"GET / HTTP/1.2\r\nHost: localhost\r\n\r\n"),
    ("HTTP/1.9 is 1.1", b"GET / HTTP/1.9\r\nHost: localhost\r\n\r\n"),
    ("empty lines before", b"\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("absolute form", b"GET http://localhost/a HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("absolute form without a path", b"GET http://localhost HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("Host empty of a port", b"GET / HTTP/1.1\r\nHost: localhost:\r\n\r\n"),
    ("Host IPv6", b"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"),
    ("field without a value", BARE + b"A:\r\n\r\n"),
    ("white space around a value", BARE + b"A: \t b \t \r\n\r\n"),
    ("tab and obs-text in a value", BARE + b"A: b\tc\xe9\r\n\r\n"),
    ("every target octet", b"GET /-._~!$&'()*+,;=:@%41/a?-._~!$&'()*+,;=:@/?%41 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("what browsers leave raw", b"GET /a|b[1]^`{}?x=a|b[]^`{}&y=100%&z=%4&c:\\d HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("UTF-8", "GET /café/😀?ü=€ HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()),
    ("length with leading zeros", POST + b"Content-Length: 0001\r\n\r\na"),
    ("coding in capitals", POST + b"Transfer-Encoding: CHUNKED\r\n\r\n1\r\na\r\n0\r\n\r\n"),
    ("coding with empty members", POST + b"Transfer-Encoding: , chunked ,\r\n\r\n1\r\na\r\n0\r\n\r\n"),
    ("chunk extension", CHUNKED + b'1;a;b=c;d="e;\\"f"\r\na\r\n0;x\r\n\r\n'),
    ("chunk extensions in bad white space", CHUNKED + b'1 ; a \t= b\t; c="d" ;e\r\na\r\n0 ;x\r\n\r\n'),
    ("chunk size with zeros", CHUNKED + b"0001\r\na\r\n000\r\n\r\n"),
    ("trailers", CHUNKED + b"1\r\na\r\n0\r\nX-A: b\r\nX-B:\r\n\r\n"),
    ("a trailer that is left out", CHUNKED + b"1\r\na\r\n0\r\nContent-Type: a/b\r\nX-A: b\r\n\r\n"),
    ("expectation in 1.0 is ignored", b"POST / HTTP/1.0\r\nExpect: nope\r\nContent-Length: 1\r\n\r\na"),
]

UNLIKE = {"HTTP/1.2 is 1.1", "HTTP/1.9 is 1.1", "coding with empty members", "expectation in 1.0 is ignored"}


@pytest.mark.parametrize("octets", [
    pytest.param(octets, id=name, marks=SAID_OTHERWISE if name in UNLIKE else []) for name, octets in ACCEPTED
])
@pytest.mark.parametrize("size", [None, 1, 7], ids=["whole", "split", "sevens"])
def test_accepted(echo, octets, size):
    with echo.connect() as connection:
        connection.send(octets) if size is None else connection.send_split(octets, size)
        response = connection.response()
        assert response.status == 200
        if octets.startswith(b"POST"):
            assert response.content == b"a"


def test_every_split(echo):
    wire = request("/x", "Cookie: a=b", method="POST", content=b"") [:-2]
    wire += b"Transfer-Encoding: chunked\r\n\r\n" + chunk(b"hello") + chunk(b"world", b";a=b") + b"0\r\nX: y\r\n\r\n"
    wire += request("/y")
    with echo.connect() as connection:
        for split in range(1, len(wire)):
            connection.send(wire[:split])
            connection.send(wire[split:])
            assert connection.response().content == b"helloworld"
            assert connection.response().status == 200


def test_split_in_time(echo):
    """A pause at every octet: each is a turn of its own."""
    with echo.connect() as connection:
        connection.send_split(request("/", "Content-Length: 3", method="POST", content=b"abc"), pause=0.002)
        assert connection.response().content == b"abc"


@pytest.mark.of_http1("the request is no request of HTTP/2")
def test_reader_gets_answer_before_its_own_octets_end(echo):
    """A refusal is not lost by a reset though the client is still sending (9112 section 9.6)."""
    with echo.connect() as connection:
        connection.send(b"GET / HTTP/9.9\r\n\r\n")
        assert connection.offer(b"x" * 100_000).status == 505
        assert connection.to_end() == b""


def test_pipelined_in_order(echo):
    count = 500
    wire = b"".join(
        request("/", f"Content-Length: {len(str(i))}", method="POST", content=str(i).encode()) for i in range(count)
    )
    with echo.connect() as connection:
        connection.send(wire)
        assert [connection.response().content for _ in range(count)] == [str(i).encode() for i in range(count)]


@pytest.mark.of_http1("the fault is no request of HTTP/2")
def test_a_fault_behind_good_requests(echo):
    with echo.connect() as connection:
        connection.send(request("/") * 3 + b"BAD\r\n\r\n" + request("/"))
        assert [connection.response().status for _ in range(4)] == [200, 200, 200, 400]
        assert connection.ended()


# ---- What the request says, as handlers see it ----


def seen(rules, target, *lines, **options):
    """The lines of /echo as a dictionary."""
    response = rules.get(target, *lines, **options)
    assert response.status == 200, response
    return dict(line.split("=", 1) for line in response.content.decode().splitlines())


def test_absolute_form_replaces_host(rules):
    got = seen(rules, "http://Other.example:81/echo/a?b", host="localhost")
    assert got["authority"].lower() == "other.example:81"
    assert (got["path"], got["query"]) == ("/echo/a", "b")


@pytest.mark.parametrize(
    "target,path",
    [
        ("/echo/a/../b", "/echo/b"),
        ("/echo/./a", "/echo/a"),
        ("/echo//a///b", "/echo/a/b"),
        ("/echo/%61%2e%2E", "/echo/a.."),
        ("/echo/a/%2e%2e/b", "/echo/b"),
        ("/../../echo/a", "/echo/a"),
        ("/echo/a/..", "/echo/"),
        ("/echo/%2561", "/echo/%61"),
    ],
)
def test_path_is_normalised_once(rules, target, path):
    assert seen(rules, target)["path"] == path


@pytest.mark.parametrize("target,plain", [("/echo/a", "1"), ("/echo/a%2Fb", "0"), ("/echo/a%5cb", "0"), ("/echo/%41", "1")])
def test_plain_paths(rules, target, plain):
    assert seen(rules, target)["plain"] == plain


def test_query_and_parameters(rules):
    got = seen(rules, "/echo/x/y%20z?a=1&q=b+c%2Bd&q=e")
    assert got["rest"] == "x/y z"
    assert got["query"] == "a=1&q=b+c%2Bd&q=e"
    assert got["q"] == "b c+d"
    assert got["peer"] == "127.0.0.1"


# Targets that Chromium sends for fetch("photo[1].jpg"), "?x=a|b", "?x={"a":1}", "?x=100%", "a^b|c", and curl
# for "/café", with what each means.
BROWSERS = [
    (b"/echo/photo[1].jpg", "/echo/photo[1].jpg", ""),
    (b"/echo/a^b|c", "/echo/a^b|c", ""),
    (b"/echo/a%5Eb%7Cc", "/echo/a^b|c", ""),
    ("/echo/café".encode(), "/echo/café", ""),
    (b"/echo/caf%C3%A9", "/echo/café", ""),
    (b"/echo/?q=a|b", "/echo/", "a|b"),
    (b"/echo/?q={%22a%22:1}", "/echo/", '{"a":1}'),
    (b"/echo/?q=100%", "/echo/", "100%"),
    (b"/echo/?q=100%&x=2", "/echo/", "100%"),
    (b"/echo/?q=%4&x=1", "/echo/", "%4"),
    (b"/echo/?q=%%41%zz+", "/echo/", "%A%zz "),
    (b"/echo/?q=c:\\dir&x", "/echo/", "c:\\dir"),
    ("/echo/?q=größe".encode(), "/echo/", "größe"),
    (b"/echo/?%=1&q=[1]^`", "/echo/", "[1]^`"),
]


@pytest.mark.parametrize("target, path, q", BROWSERS, ids=[t.decode() for t, _, _ in BROWSERS])
def test_what_browsers_send_is_served(rules, target, path, q):
    with rules.connect() as connection:
        connection.send(b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        response = connection.response()
    got = dict(line.split("=", 1) for line in response.content.decode().splitlines())
    assert (response.status, got["path"], got["plain"]) == (200, path, "1")
    assert got["q"] == q


@pytest.mark.of_http1("it is about the version")
def test_versions(rules):
    for version, number in (("1.0", "10"), ("1.1", "11"), ("1.7", "11")):
        with rules.connect() as connection:
            connection.send(request("/echo/", version=version))
            assert f"version={number}".encode() in connection.response().content


def test_echo_lists_fields_and_cookies(echo):
    response = echo.get("/echo", "X-One: a", "x-Two:  b ")
    found = response.content.lower() if HTTP2 else response.content
    assert all((line.lower() if HTTP2 else line) in found for line in (b"X-One: a\n", b"x-Two: b\n"))
    response = echo.get("/cookie", "Cookie: a=1; b=2; a=3")
    assert response.content.split(b"\n")[:3] == [b"a=1", b"b=2", b"a=3"]


# ---- Methods ----


def test_method_not_allowed(rules):
    response = rules.get("/collect")
    assert response.status == 405
    assert response.get("allow").replace(" ", "").split(",").count("POST") == 1
    response = rules.get("/pull/1", method="POST")
    assert response.status == 405
    assert {"GET", "HEAD"} <= set(response.get("allow").replace(" ", "").split(","))


def test_options_asterisk(rules):
    response = rules.get("*", method="OPTIONS")
    assert response.status in (200, 204)


def test_asterisk_with_others(rules):
    assert rules.get("*", method="GET").status == 400


def test_not_found(rules):
    response = rules.get("/nothing/here")
    assert response.status == 404
    assert not response.closes


@pytest.mark.of_http1("test_h2.py says what CONNECT is there")
def test_connect_is_for_tunnels(rules):
    response = rules.get("localhost:80", method="CONNECT")
    assert response.status in (400, 404, 405, 501)


# ---- Limits, at their edges ----


def edge(rules, build, last_good, refused_with, good=(200, 404)):
    """build(n) octets of request: the last good size is served, one more is refused."""
    for n, expected in ((last_good, good), (last_good + 1, (refused_with,))):
        with rules.connect() as connection:
            connection.send(build(n))
            response = connection.response()
            assert response.status in expected, (n, response.status)
            if response.status == refused_with:
                assert HTTP2 or (response.closes and connection.ended())


def test_target_limit(rules):
    edge(rules, lambda n: request("/" + "a" * (n - 1)), 8192, 414)


@pytest.mark.of_http1("heads are measured otherwise there: test_h2_attacks.py")
def test_head_limit(rules):
    def build(n):
        head = request("/")[:-2] + b"A: \r\n\r\n"
        return head.replace(b"A: ", b"A: " + b"x" * (n - len(head)))

    edge(rules, build, 16384, 431)


def test_fields_limit(rules):
    edge(rules, lambda n: request("/", *[f"A{i}: b" for i in range(n - 1)]), 100, 431)


def test_trailer_limit(rules):
    def build(n):
        fixed = len(b"X: \r\n")
        trailer = b"X: " + b"y" * (n - fixed) + b"\r\n"
        return (
            request("/collect", "Transfer-Encoding: chunked", method="POST") + b"1\r\na\r\n0\r\n" + trailer + b"\r\n"
        )

    with rules.connect() as connection:
        assert connection.send(build(8000)).response().status == 200
    with rules.connect() as connection:
        assert connection.send(build(8193 + 8)).response().status == 431


@pytest.mark.of_http1("chunks are")
def test_chunk_extension_limit(rules):
    def build(n):
        return (
            request("/collect", "Transfer-Encoding: chunked", method="POST")
            + b"1;" + b"x" * n + b"\r\na\r\n0\r\n\r\n"
        )

    with rules.connect() as connection:
        assert connection.send(build(4000)).response().status == 200
    with rules.connect() as connection:
        assert connection.send(build(4097)).response().status == 400


@pytest.mark.of_http1("chunks are")
def test_chunk_extensions_add_up(rules):
    piece = b"1;" + b"x" * 100 + b"\r\na\r\n"
    with rules.connect() as connection:
        connection.send(request("/collect", "Transfer-Encoding: chunked", method="POST") + piece * 60 + b"0\r\n\r\n")
        assert connection.response().status == 400


def test_collected_limit(rules):
    limit = 1048576
    with rules.connect() as connection:
        connection.send(request("/collect", f"Content-Length: {limit}", method="POST", content=b"a" * limit))
        assert len(connection.response().content) == limit
        connection.send(request("/collect", f"Content-Length: {limit + 1}", method="POST"))
        assert connection.response().status == 413


def test_collected_limit_chunked(rules):
    with rules.connect() as connection:
        connection.send(request("/collect", "Transfer-Encoding: chunked", method="POST"))
        try:
            for _ in range(20):
                connection.send(chunk(b"a" * 65536))
        except ConnectionError:
            pass
        assert connection.response().status == 413


@pytest.mark.of_http1("there are no lines")
def test_empty_lines_before_are_bounded(echo):
    with echo.connect() as connection:
        try:
            for _ in range(100):
                connection.send(b"\r\n" * 1000)
        except ConnectionError:
            return
        response = connection.response()
        assert response.status in (400, 431)
        assert connection.ended()
