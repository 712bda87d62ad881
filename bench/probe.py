# SPDX-License-Identifier: MIT
"""Before the clock runs: does a server answer correctly, and how strictly does it read?"""

import socket
import ssl
import zlib

TIMEOUT_S = 5


def receive_answer(connection, kept=b""):
    """Reads one answer that states its length, or ends with the connection. Returns head, content, octets left over."""
    octets = kept
    while b"\r\n\r\n" not in octets:
        more = connection.recv(65536)
        if not more:
            raise RuntimeError("closed inside a head")
        octets += more
    head, _, rest = octets.partition(b"\r\n\r\n")
    length = content_length(head)
    while length is None or len(rest) < length:
        more = connection.recv(1 << 20)
        if not more:
            break
        rest += more
    if length is None:
        return head + b"\r\n\r\n", rest, b""
    if len(rest) < length:
        raise RuntimeError("closed inside the content")
    return head + b"\r\n\r\n", rest[:length], rest[length:]


def content_length(head):
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return None


def decoded(head, content):
    """Content that says it is compressed, as it was before."""
    return zlib.decompress(content, 31) if b"content-encoding: gzip" in head.lower() else content


def check_answer(head, content, expected, coded=False):
    if coded and b"content-encoding: gzip" not in head.lower():
        raise RuntimeError("the content is not compressed")
    content = decoded(head, content)
    if head.split(b" ")[1:2] != [b"200"]:
        raise RuntimeError("answered " + head.split(b"\r\n")[0].decode(errors="replace"))
    if content != expected:
        raise RuntimeError("the content is not what it should be")


def connect(port, tls=None):
    """tls: the file of the certificate that is to be shown, or None for a connection in the clear."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
    connection.settimeout(TIMEOUT_S)
    if not tls:
        return connection
    context = ssl.create_default_context(cafile=tls)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context.wrap_socket(connection, server_hostname="localhost")


def fetch(workload, port, tls=None):
    """The octets of one answer: head and content."""
    with connect(port, tls) as connection:
        connection.sendall(workload.request(port))
        head, content, _ = receive_answer(connection)
        return head, content


def check(workload, port, expected, tls=None):
    """Raises unless the workload's requests are answered as they should be. Returns the octets of an answer."""
    with connect(port, tls) as connection:
        if workload.close:
            connection.sendall(workload.request(port))
            head, content, _ = receive_answer(connection)
            check_answer(head, content, expected)
            if connection.recv(1):
                raise RuntimeError("octets after the answer")
            return len(head) + len(content)
        kept = b""
        for _ in range(2):
            connection.sendall(workload.request(port) * workload.pipeline)
            for _ in range(workload.pipeline):
                head, content, kept = receive_answer(connection, kept)
                check_answer(head, content, expected, workload.coded)
        return len(head) + len(content)


# Requests that RFC 9112 has a server refuse, or that smuggle where they are not refused.
MALFORMED = {
    "no Host": b"GET / HTTP/1.1\r\n\r\n",
    "two Hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "space before the colon": b"GET / HTTP/1.1\r\nHost: localhost\r\nX : y\r\n\r\n",
    "NUL in a field": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
    "two Content-Lengths": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "signed Content-Length": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: +1\r\n\r\na",
    "Content-Length and chunked": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
                                  b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
}


def strictness(port):
    """Which malformed requests were refused: answered 4xx or 5xx, or the connection closed without an answer."""
    refused = []
    for name, octets in MALFORMED.items():
        try:
            with connect(port) as connection:
                connection.sendall(octets)
                status = connection.recv(65536)[9:10]
                if status in (b"4", b"5", b""):
                    refused.append(name)
        except OSError:
            refused.append(name)
    return refused
