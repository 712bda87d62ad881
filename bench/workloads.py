# SPDX-License-Identifier: MIT
"""The workloads: what is asked, by which client, and what Skua is to reach there."""

from dataclasses import dataclass, field
from typing import Optional

HELLO = b"Hello, World!"

# About ten fields, as a browser sends them.
BROWSER_FIELDS = [
    ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"),
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"),
    ("Accept-Language", "en-GB,en;q=0.7,de;q=0.3"),
    ("Referer", "http://localhost/index.html"),
    ("Cookie", "session=8f14e45fceea167a5a36dedd4bea2543; theme=dark; _ga=GA1.1.1234567890.1700000000; "
               "consent=analytics%3Dno%26ads%3Dno; csrftoken=Yz0ykq7Wf3mVbJ2sN8tR5uXc1dLhQe4A"),
    ("Upgrade-Insecure-Requests", "1"),
    ("Sec-Fetch-Dest", "document"),
    ("Sec-Fetch-Mode", "navigate"),
    ("Sec-Fetch-Site", "same-origin"),
]


# A page's document and the 60 resources that it needs: octets, and the priority that a browser asks for. Sizes differ, as they
# are the names of files.
PAGE = ([(24000, "u=0, i")]
        + [(9001 + 6007 * i, "u=0") for i in range(4)]       # style sheets
        + [(6011 + 7001 * i, "u=1") for i in range(12)]      # scripts
        + [(21011 + 3001 * i, "u=2") for i in range(4)]      # fonts
        + [(1013 + 701 * i, "u=3, i") for i in range(30)]    # images that are seen
        + [(2017 + 1409 * i, "u=5, i") for i in range(10)])  # and those further down


@dataclass
class Workload:
    name: str
    title: str
    client: str                     # "wrk", "ab", "h2load", "own" (client.c), "page" (page.c), "idle" or "bursts" (bursts.py)
    connections: int
    octets: int = len(HELLO)        # of content
    fields: list = field(default_factory=list)
    varied: bool = False            # a running number in the query
    pipeline: int = 1
    close: bool = False             # a connection per request
    ceilings: tuple = ("memory",)   # ways to send, on each interface; the cheapest of all is the ceiling
    ratio_target: Optional[float] = None
    below_peers: bool = False       # every one
    no_errors: bool = False
    seconds_min: int = 1            # a round is no shorter
    share: float = 0                # of the slowest peer's capacity, asked by the clock; 0: as fast as answers come
    peer_ratio: Optional[float] = None  # to the best peer
    ratios_to: dict = field(default_factory=dict)  # to peers by their names
    ratios_with: dict = field(default_factory=dict)  # by a TLS library that Skua was built with: the same
    octets_target: Optional[float] = None  # of an idle connection
    tls: bool = False               # TLS 1.3, TLS_AES_128_GCM_SHA256, X25519
    http2: bool = False             # over TLS by ALPN, in the clear by prior knowledge
    streams: int = 1                # at a time on each connection, of HTTP/2
    beside_http1: bool = False      # Skua over HTTP/1 takes part too
    settled: int = 0                # idle connections that are there before those that are counted
    site: Optional[str] = None      # how the file is served: see sites.py
    resources: list = field(default_factory=list)  # of a page: octets and priority; the first is the document

    @property
    def is_file(self):
        return self.octets != len(HELLO)

    @property
    def is_open(self):
        """Whether latency is compared: requests are asked by the clock."""
        return self.share > 0 or self.client == "bursts"

    @property
    def path(self):
        if self.coded:
            return f"/{self.octets}.txt"
        return f"/{self.octets}.bin" if self.is_file else "/"

    @property
    def coded(self):
        """Whether what is sent is compressed."""
        return self.site in ("precompressed", "compressed")

    def request(self, port, number=None):
        """One request as the workload's client sends it. number: an octet string for the query, or None."""
        query = "?n=" + (number or "00000000") if self.varied else ""
        if self.client == "ab":
            lines = [f"GET {self.path} HTTP/1.0", f"Host: 127.0.0.1:{port}", "User-Agent: ApacheBench/2.3", "Accept: */*"]
        else:
            host = "localhost" if self.tls else "127.0.0.1"  # the name in the certificate
            lines = [f"GET {self.path}{query} HTTP/1.1", f"Host: {host}:{port}"]
            lines += [f"{name}: {value}" for name, value in self.fields] + ["Connection: close"] * self.close
        return "\r\n".join(lines + ["", ""]).encode()


WORKLOADS = [
    Workload("hello", "Hello, keep-alive, 200 connections", "wrk", 200, ratio_target=1.05, below_peers=True),
    Workload("browser", "Hello, a browser's head", "wrk", 200, fields=BROWSER_FIELDS, ratio_target=1.05, below_peers=True),
    Workload("varied", "Hello, a browser's head, varied targets", "own", 200, fields=BROWSER_FIELDS, varied=True),
    Workload("pipelined", "Hello, pipelined by 16", "wrk", 200, pipeline=16, ratio_target=1.12, below_peers=True),
    Workload("close", "Hello, a connection per request", "ab", 200, close=True, ratio_target=1.03, below_peers=True),
    Workload("file-4k", "4 KiB file, keep-alive", "wrk", 200, octets=4096, ratio_target=1.06, below_peers=True),
    Workload("file-100k", "100 KiB file, 64 connections", "wrk", 64, octets=102400, ceilings=("memory", "sendfile"),
             ratio_target=1.03, below_peers=True),
    Workload("file-1m", "1 MiB file, 32 connections", "wrk", 32, octets=1048576, ceilings=("memory", "sendfile"),
             ratio_target=1.03, below_peers=True),
    Workload("precompressed", "100 KiB of text that lies compressed", "wrk", 64, octets=102400, fields=[("Accept-Encoding", "gzip")],
             site="precompressed", ceilings=(), peer_ratio=0.8),
    Workload("compressed", "100 KiB of text that is compressed once", "wrk", 64, octets=102400, fields=[("Accept-Encoding", "gzip")],
             site="compressed", ceilings=(), peer_ratio=0.8),
    Workload("log-combined", "4 KiB file, with an access log in the combined format", "wrk", 200, octets=4096,
             fields=BROWSER_FIELDS[:1] + BROWSER_FIELDS[3:4], site="log-combined", ceilings=(), ratios_to={"nginx": 0.8}),
    Workload("log-json", "4 KiB file, with an access log in JSON", "wrk", 200, octets=4096, fields=BROWSER_FIELDS[:1] + BROWSER_FIELDS[3:4],
             site="log-json", ceilings=(), ratios_to={"nginx": 0.8}),
    Workload("sites", "4 KiB file of a site among 1,000", "wrk", 200, octets=4096, site="sites", ceilings=(),
             ratios_to={"Skua with one site": 1.05}),
    Workload("many", "Hello, 10,000 connections", "own", 10000, ratio_target=1.07, no_errors=True),
    Workload("many-wrk", "Hello, wrk with 10,000 connections", "wrk", 10000, ratio_target=1.07, no_errors=True, seconds_min=5),
    Workload("open-50", "Open loop, 50 % of the slowest peer's capacity", "own", 200, share=0.5, peer_ratio=1.1,
             no_errors=True),
    Workload("open-80", "Open loop, 80 % of the slowest peer's capacity", "own", 200, share=0.8, peer_ratio=1.1, no_errors=True),
    Workload("idle", "Memory per idle connection", "idle", 10000),
    Workload("tls-hello", "HTTPS, hello, keep-alive, 200 connections", "own", 200, tls=True, ceilings=("ready", "keyed"),
             ratio_target=1.10, below_peers=True, ratios_to={"nginx": 0.75, "h2o": 0.75, "uWebSockets": 0.93}),
    # Twice as many as there are ready contexts.
    Workload("tls-many", "HTTPS, hello, keep-alive, 2,000 connections", "own", 2000, tls=True, ceilings=("ready", "keyed"),
             below_peers=True, no_errors=True),
    Workload("tls-handshake", "HTTPS, a full handshake per request", "own", 32, tls=True, close=True, ceilings=("openssl",),
             ratio_target=1.05, ratios_to={"nginx": 1, "h2o": 1, "lighttpd": 1, "haproxy": 1, "uWebSockets": 1},
             ratios_with={"AWS-LC": {"hyper": 0.9}}),
    Workload("tls-bursts", "HTTPS, one connection beside bursts of 200 handshakes", "bursts", 1, tls=True, ceilings=()),
    Workload("tls-file-1m", "HTTPS, 1 MiB file, 32 connections", "own", 32, octets=1048576, tls=True, ceilings=("pread",),
             ratio_target=1.08, below_peers=True, ratios_to={"nginx": 0.60, "h2o": 0.85}),
    # More of them would not fit beside the client's own in the memory of a small machine.
    Workload("tls-idle", "Memory per idle connection, TLS 1.3", "idle", 8000, tls=True, settled=1500, octets_target=640),
    Workload("h2c-hello", "HTTP/2 in the clear, hello, 50 connections of 32 streams", "h2load", 50, http2=True, streams=32,
             ratio_target=2.2),
    Workload("h2-hello", "HTTP/2, hello, 50 connections of 32 streams", "h2load", 50, http2=True, streams=32, tls=True,
             ceilings=("ready", "keyed"), ratios_to={"h2o": 0.5}),
    Workload("h2-file-4k", "HTTP/2, 4 KiB file, 50 connections of 32 streams", "h2load", 50, octets=4096, http2=True, streams=32,
             tls=True, ceilings=("ready",), ratios_to={"h2o": 0.6}),
    Workload("h2-file-100k", "HTTP/2, 100 KiB file, 50 connections of 8 streams", "h2load", 50, octets=102400, http2=True, streams=8,
             tls=True, ceilings=("ready", "pread"), ratios_to={"h2o": 0.8}),
    Workload("h2-many", "HTTP/2, hello, 1,000 connections of one stream", "h2load", 1000, http2=True, tls=True, beside_http1=True,
             ceilings=("ready", "keyed"), ratios_to={"Skua over HTTP/1": 1.15}, no_errors=True),
    # A crumb of a cookie is a field of its own, as browsers send it.
    Workload("h2-page", "HTTP/2, a page of 60 resources with cookies and priorities, 20 connections", "page", 20, octets=PAGE[0][0],
             fields=[(name, crumb) for name, value in BROWSER_FIELDS for crumb in (value.split("; ") if name == "Cookie" else [value])],
             http2=True, streams=60, tls=True, resources=PAGE, ceilings=(), peer_ratio=0.6, no_errors=True),
]

QUICK = ("hello", "pipelined", "close", "file-4k", "file-100k")
