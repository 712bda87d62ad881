# SPDX-License-Identifier: MIT
"""The interface of httpserver.h over Skua: what it documents holds, and what it was known to do wrong it does not."""

import re
import subprocess
import time

import pytest
from clock import against_the_clock
from compiling import C_WARNINGS, CXX_WARNINGS, make_header, needed_libraries, sanitizers
from ports import free_port
from server import BUILD, ROOT, Server, eventually, numbered
from wire import chunk, request

pytestmark = pytest.mark.in_the_clear("httpserver.h has no TLS")

HEADER = ROOT / "compat/skua/compat/httpserver.h"
HELD = 262144  # octets of head and content above which the server streams
TIMEOUT = 3.0  # seconds a request may rest


@pytest.fixture(scope="module", params=["listen", "poll"])
def compat(request):
    server = numbered("compat", *(["--poll"] if request.param == "poll" else []))
    yield server
    server.stop()


@pytest.fixture
def listening(launch):
    return launch(numbered, "compat")


def alive(server):
    """Requests that are held, without the one that asks."""
    return int(server.get("/alive").content.split()[0]) - 1


def settled(server):
    return eventually(lambda: alive(server) == 0)


def checksum(octets):
    total = 0
    for octet in octets:
        total = (total * 31 + octet) % 2**32
    return total


# ---- What it documents ----


def test_hello(compat):
    with compat.connect() as c:
        for _ in range(3):
            response = c.get("/")
            assert (response.status, response.content) == (200, b"Hello, World!")
            assert response.get("content-type") == "text/plain"


def test_parts_of_a_request(compat):
    response = compat.get("/seen/%41?b=c%20d", "X-SEEN:  e f ", "X-Seen: second", method="PUT")
    assert response.content == b"PUT /seen/%41?b=c%20d [e f] 0 NULL 0 0"


def test_fields_in_order(compat):
    assert compat.get("/headers", "A: 1", "b:2", "A: 3").content == b"Host=localhost\nA=1\nb=2\nA=3\n"


@pytest.mark.parametrize("length", [0, 1, 5000, HELD - 1000])
def test_body(compat, length):
    body = bytes(i % 251 for i in range(length))
    with compat.connect() as c:
        for _ in range(2):
            c.send(request("/echo", f"Content-Length: {length}", method="POST", content=body))
            assert c.response().content == body


@pytest.mark.parametrize("asked, given", [(100 - 1, 500), (600, 500), (204, 204), (404, 404), (599, 599)])
def test_status(compat, asked, given):
    assert compat.get(f"/status/{asked}").status == given


def test_interim_response(compat):
    with compat.connect() as c:
        c.send(request("/informed"))
        hints = c.interim()
        assert (hints.status, hints.get("link")) == (103, "</a.css>; rel=preload")
        assert c.response().content == b"informed"
        c.send(request("/status/101"))
        assert c.response().status == 500


@pytest.mark.parametrize("directive, closes", [(0, True), (1, False), (8, False)])
def test_connection(compat, directive, closes):
    with compat.connect() as c:
        response = c.get(f"/connection/{directive}")
        assert (response.closes, response.get("connection")) == (closes, "close" if closes else "keep-alive")
        assert c.ended() if closes else c.get("/").get("connection") == "keep-alive"
        if not closes:
            assert c.get(f"/connection/{directive}", "Connection: close").closes and c.ended()


def test_chunked_answer_with_trailers(compat):
    with compat.connect() as c:
        response = c.get("/chunks/500")
        assert response.framing == "chunked" and response.get("x-first") == "only"
        assert response.content == b"".join(b"%d," % i for i in range(500))
        assert response.trailers == [("X-Chunks", "all")]
        assert c.get("/chunks/0").content == b""
    assert settled(compat)


def test_chunks_larger_than_the_queue(compat):
    """notify_done waits for the reader; nothing that was given is overtaken or lost."""
    with compat.connect(receive_buffer=4096) as c:
        c.send(request("/bulk/12"))
        time.sleep(0.2)
        assert int(compat.get("/alive").content.split()[2]) < 4 << 20, "the server reads ahead of its client"
        content = c.response().content
    assert len(content) == 12 << 20
    assert all(content[i << 20 : (i + 1) << 20] == bytes([97 + i]) * (1 << 20) for i in range(12))


def test_chunks_without_waiting(compat):
    response = compat.get("/heedless")
    assert response.content == b"h" * 1200000 + b"end"


def test_chunked_answer_to_old_client(compat):
    with compat.connect() as c:
        c.send(request("/chunks/9", version="1.0"))
        assert c.response().content == b"0,1,2,3,4,5,6,7,8,"


@pytest.mark.parametrize("length", [1, HELD - 1000, HELD, 3000000])
def test_content_in_pieces(compat, length):
    """Also one that was not streamed is read so."""
    body = bytes(i * 7 % 256 for i in range(length))
    with compat.connect() as c:
        c.send(request("/content", f"Content-Length: {length}", method="POST", content=body))
        assert c.response().content.decode() == f"{length} {checksum(body)} {int(length >= HELD)}"
        c.send(request("/content"))
        assert c.response().content == b"0 0 0"


def test_chunked_content(compat):
    with compat.connect() as c:
        c.send(request("/content", "Transfer-Encoding: chunked", method="POST"))
        for i in range(20):
            c.send(chunk(b"%d" % i * 50))
        c.send(b"0\r\n\r\n")
        body = b"".join(b"%d" % i * 50 for i in range(20))
        assert c.response().content.decode() == f"{len(body)} {checksum(body)} 1"
        assert c.get("/").status == 200


def test_buffer_can_be_freed_early(compat):
    with compat.connect() as c:
        c.send(request("/freed", "Content-Length: 5", method="POST", content=b"12345"))
        assert c.response().content == b"freed"


def test_answer_later(compat):
    with compat.connect() as c:
        assert c.get("/later/50", "X-Seen: seen").content == b"later"
        assert c.get("/beats/5").content == b"beat," * 9
        assert c.get("/").content == b"Hello, World!"


def test_limits(compat):
    assert compat.get("/" + "a" * 8192).status == 414
    assert compat.get("/", "X: " + "a" * 8193).status == 431
    assert compat.get("/" + "a" * 8000, "X: " + "a" * 8000, "Y: " + "a" * 8000).status == 200


@against_the_clock
def test_memory_is_bounded(compat):
    """Requests that come while all the memory is in use get 503, and the others their answer."""
    waiting = [compat.connect() for _ in range(24)]
    for c in waiting:
        c.send(request("/echo", f"Content-Length: {HELD - 1000}", method="POST", content=b"x" * (HELD - 1001)))
    assert eventually(lambda: compat.get("/").status == 503)
    for c in waiting:
        c.send(b"x")
    statuses = {c.response().status for c in waiting}
    assert 200 in statuses and statuses <= {200, 503}
    assert eventually(lambda: compat.get("/").status == 200)
    assert settled(compat) and compat.get("/alive").content.split()[2] == b"0"


def test_polled_is_not_silent_without_requests(launch):
    """The loop's descriptor wakes who waits for it, also for a deadline."""
    server = launch(numbered, "compat", "--poll")
    with server.connect() as c:
        c.send(b"GET / HT")
        assert c.response().status == 408


def test_polling_program_is_not_kept_waiting(launch):
    """Pieces follow each other, and an answer given outside of http_server_poll leaves at once."""
    server = launch(numbered, "compat", "--poll")
    began = time.monotonic()
    assert server.get("/chunks/2000").content.endswith(b",1999,")
    assert server.get("/idle").content == b"idle"
    assert time.monotonic() - began < 15


def test_port_in_use(compat):
    done = subprocess.run([BUILD / "compat", "--port", str(compat.port)], capture_output=True, text=True, check=False)
    assert done.returncode not in (0, 1) and done.stderr.startswith("httpserver: ")


# ---- What it was known to do wrong ----


def test_kept_connection_starts_afresh(compat):
    """Strings of a request were taken from where those of the one before it had been."""
    with compat.connect() as c:
        for i, body in enumerate([b"x" * 3000, b"", b"y", b"z" * 70000, b"w"]):
            c.send(request(f"/seen/{i}", f"X-Seen: {'v' * i}", f"Content-Length: {len(body)}", method="POST", content=body))
            null = b"" if body else b"NULL "
            assert c.response().content == b"POST /seen/%d [%s] %d %s0 0" % (i, b"v" * i, len(body), null)


def test_pipelined_requests_are_answered_in_order(compat):
    with compat.connect() as c:
        c.send(request("/later/100", "X-Seen: seen") + request("/echo", "Content-Length: 3", method="POST", content=b"abc")
               + request("/chunks/2") + request("/content", "Transfer-Encoding: chunked", content=b"1\r\nq\r\n0\r\n\r\n")
               + request("/"))
        answers = [c.response().content for _ in range(5)]
    assert answers == [b"later", b"abc", b"0,1,", f"1 {checksum(b'q')} 1".encode(), b"Hello, World!"]


@pytest.mark.parametrize("octets", [
    b"nonsense\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nA : b\r\n\r\n",
    b"GET / HTTP/1.1\nHost: a\n\n",
    b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
    b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
])
def test_bad_requests_are_answered_400(compat, octets):
    with compat.connect() as c:
        response = c.send(octets).response()
        assert response.status == 400 and response.closes and c.ended()


@pytest.mark.parametrize("lengths", ["Content-Length: 1\r\nContent-Length: 2", "Content-Length: 1, 2", "Content-Length: 1 2"])
def test_two_lengths_are_not_one(compat, lengths):
    """They were read as one number, 12: a way to smuggle requests."""
    with compat.connect() as c:
        c.send(f"POST /echo HTTP/1.1\r\nHost: a\r\n{lengths}\r\n\r\nabcdefghijkl".encode())
        assert c.response().status == 400 and c.ended()


@pytest.mark.parametrize("path", ["/", "/chunks/20", "/echo", "/fields"])
def test_head_has_no_body(compat, path):
    with compat.connect() as c:
        head = c.get(path, method="HEAD")
        assert head.status == 200 and c.silent(0.1)
        assert c.get("/").content == b"Hello, World!"
    assert settled(compat)


@pytest.mark.parametrize("path, answer", [("/echo", b"abc"), ("/content", b"3 96354 0")])
def test_continue(compat, path, answer):
    """The client waits for 100 before it sends content, and used to wait for ever."""
    with compat.connect() as c:
        c.send(request(path, "Content-Length: 3", "Expect: 100-continue", method="POST"))
        assert c.interim().status == 100
        assert c.send(b"abc").response().content == answer


def test_continue_when_streamed(compat):
    with compat.connect() as c:
        c.send(request("/content", "Transfer-Encoding: chunked", "Expect: 100-continue", method="POST"))
        assert c.interim().status == 100
        assert c.send(b"3\r\nabc\r\n0\r\n\r\n").response().content == b"3 96354 1"


def test_streamed_is_no_other_flag(compat):
    """HTTP_FLG_STREAMED was HTTP_KEEP_ALIVE's bit, and set for requests without content."""
    for lines in ([], ["Connection: keep-alive"], ["Connection: close"]):
        assert compat.get("/seen", *lines).content == b"GET /seen [] 0 NULL 0 0"
    with compat.connect() as c:
        c.send(request("/seen", "Transfer-Encoding: chunked", "Connection: close", content=b"0\r\n\r\n"))
        assert c.response().content == b"GET /seen [] 0 NULL 1 0"
    values = re.findall(r"^#define HTTP_(CLOSE|KEEP_ALIVE|AUTOMATIC|FLG_\w+) (\S+)", HEADER.read_text(), re.M)
    bits = [int(value, 0) for _, value in values]
    assert len(bits) == 5 and sum(bits) == max(bits) + sum(sorted(bits)[:-1])
    assert all(a & b == 0 for i, a in enumerate(bits) for b in bits[:i])


def test_answer_after_the_timeout(compat):
    """It was a use after free."""
    with compat.connect() as c:
        began = time.monotonic()
        c.send(request("/later/4500", "X-Seen: seen", "Content-Length: 2", method="POST", content=b"ab"))
        response = c.response()
        assert response.status == 503 and time.monotonic() - began > TIMEOUT - 1
        assert eventually(lambda: "compat: later, gone, same, 2" in compat.error_text())
    assert settled(compat)


@against_the_clock
def test_answer_after_the_client_has_gone(compat):
    """The request can be read until it is answered; the answer goes nowhere."""
    def ask(path, content):
        c = compat.connect()
        return c.send(request(path, "X-Seen: seen", f"Content-Length: {len(content)}", method="POST", content=content))

    said = lambda: compat.error_text().count("compat: later, gone, same, 3")
    before, clients = said(), [ask("/later/1000", b"abc") for _ in range(2)]
    both = eventually(lambda: alive(compat) == 2, 1)
    for c in clients:
        c.reset()
    assert both
    for path in ("/beats/50", "/bulk/50") * 2:
        c = ask(path, b"")
        time.sleep(0.05)
        c.reset()
    assert eventually(lambda: said() >= before + 2)
    assert settled(compat)
    assert compat.get("/").status == 200


def test_client_goes_while_it_sends(compat):
    for path in ("/content", "/echo"):
        c = compat.connect()
        c.send(request(path, "Content-Length: 250000", method="POST", content=b"half of it"))
        c.send(b"")
        time.sleep(0.05)
        c.reset()
        c = compat.connect()
        c.send(request(path, "Transfer-Encoding: chunked", method="POST", content=b"5\r\nhalf"))
        time.sleep(0.05)
        c.close()
    assert settled(compat)


def test_second_answer_is_dropped(compat):
    with compat.connect() as c:
        assert c.get("/twice").content == b"once"
        assert c.get("/").content == b"Hello, World!"


def test_fields_that_are_the_servers(compat):
    """A program's Content-Length came beside the server's; a line end in a value made fields of its own."""
    with compat.connect() as c:
        response = c.get("/fields")
        assert (response.get("content-length"), response.content) == ("6", b"fields")
        assert response.all("x-good") == ["1", "2"]
        assert not response.all("x-bad") and not response.all("injected")
        assert c.get("/").status == 200
    assert eventually(lambda: "not a field that can be sent: X-Bad" in compat.error_text())


def test_fields_that_are_too_large(compat):
    with compat.connect() as c:
        assert c.get("/huge-field").get("x-huge") is None
        assert c.get("/").status == 200
    assert eventually(lambda: "not a field that can be sent: X-Huge" in compat.error_text())


def test_handler_may_poll(listening):
    with listening.connect() as c, listening.connect() as other:
        other.send(request("/"))
        assert c.get("/polling").content == b"polled"
        assert other.response().status == 200


# ---- The example, and programs that include the header ----


def from_header():
    lines = HEADER.read_text().splitlines()
    first = lines.index("//     #define HTTPSERVER_IMPL")
    last = first + lines[first:].index("//     }", lines[first:].index("//     int main(void)"))
    return "\n".join(line[7:] for line in lines[first : last + 1]) + "\n"


def serves(program, port):
    server = Server([program], ("127.0.0.1", port))
    try:
        with server.connect() as c:
            assert [c.get("/").content for _ in range(2)] == [b"Hello, World!"] * 2
    finally:
        server.process.kill()
        server.process.wait()


@pytest.mark.parametrize("compiler", ["cc -std=c11", "cc -std=gnu17", "c++ -x c++ -std=c++17", "clang++ -x c++ -std=c++20"])
def test_example(tmp_path, compiler):
    """As it stands, and without a macro that only its author knew."""
    text = from_header()
    assert text.count("8080") == 1 and text.startswith("#define HTTPSERVER_IMPL\n#include ")
    port = free_port()
    (tmp_path / "example.c").write_text(text.replace("8080", str(port)))
    warnings = CXX_WARNINGS if "++" in compiler else ["-Wall", "-Wextra", "-Werror"]
    words = [*compiler.split(), *warnings, *sanitizers(), "-I", ROOT / "include", "-I", ROOT / "compat", tmp_path / "example.c"]
    subprocess.run([*words, "-x", "none", BUILD / "libskua.a", *needed_libraries(), "-pthread", "-o", tmp_path / "example"], check=True)
    serves(tmp_path / "example", port)


@pytest.mark.parametrize("compiler, warnings", [
    ("gcc -std=c11", C_WARNINGS), ("gcc -std=gnu17", C_WARNINGS), ("clang -std=c17", C_WARNINGS),
    ("g++ -x c++ -std=c++17", CXX_WARNINGS), ("clang++ -x c++ -std=c++20", CXX_WARNINGS),
])
def test_compiles_without_warnings(tmp_path, compiler, warnings):
    (tmp_path / "impl.c").write_text(f'#define HTTPSERVER_IMPL\n#include "{HEADER}"\n#include "{HEADER}"\n')
    words = [*compiler.split(), *warnings, "-I", ROOT / "include", "-I", ROOT / "compat", "-c", tmp_path / "impl.c", "-o", tmp_path / "impl.o"]
    subprocess.run(words, check=True)


def test_every_function_is_there(tmp_path):
    """Those that are declared are defined: 28, and nothing else is."""
    (tmp_path / "impl.c").write_text(f'#define HTTPSERVER_IMPL\n#include "{HEADER}"\n')
    subprocess.run(["cc", "-I", ROOT / "include", "-I", ROOT / "compat", "-c", "impl.c"], check=True, cwd=tmp_path)
    listed = subprocess.run(["nm", "-g", "--defined-only", "impl.o"], check=True, cwd=tmp_path, capture_output=True, text=True)
    defined = {line.split()[-1] for line in listed.stdout.splitlines()}
    declarations = HEADER.read_text().split("#if defined(HTTPSERVER_IMPL)")[0]
    declared = set(re.findall(r"^(?:\w+ )+\*?(http_\w+)\(", declarations, re.M))
    assert defined == declared and len(defined) == 28
    assert "#define http_request_read_body http_request_read_chunk" in declarations


@pytest.mark.test_all
def test_with_the_single_header(tmp_path):
    """Skua in a C file, the program in C++; both headers in the program's folder."""
    make_header(tmp_path / "skua.h")
    (tmp_path / "httpserver.h").write_text(HEADER.read_text())
    (tmp_path / "skua.c").write_text('#define SKUA_IMPLEMENTATION\n#include "skua.h"\n')
    port = free_port()
    program = from_header().replace("8080", str(port)).replace("<skua/compat/httpserver.h>", '"httpserver.h"')
    (tmp_path / "app.cpp").write_text('#include "skua.h"\n' + program)
    for words in (["cc", "-c", "skua.c"], ["c++", "-c", "app.cpp"], ["c++", "app.o", "skua.o", "-lpthread", "-o", "app"]):
        subprocess.run(words, check=True, cwd=tmp_path)
    serves(tmp_path / "app", port)
