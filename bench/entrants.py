# SPDX-License-Identifier: MIT
"""Who takes part: the ceilings, Skua, and every peer that is installed or can be built here.

An entrant makes the command that serves a workload on a port, or None where it has no part in it. All
serve on one core with one worker, without an access log, and with the settings that their own manuals
give for speed.
"""

import os
import re
import shutil
import subprocess

import http2
import sites
import workloads

BENCH = os.path.dirname(os.path.abspath(__file__))
CONNECTIONS_MAX = 12000


def make_certificate(certificate, key):
    """ECDSA on P-256, for localhost."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", key, "-out", certificate],
                   check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Place:
    """Where things lie: the build, the served folder, and a folder for what is made at run time."""

    def __init__(self, build, folder):
        self.build = build
        self.folder = folder
        self.www = os.path.join(folder, "www")
        os.makedirs(self.www, exist_ok=True)
        self.write("www/hello.txt", workloads.HELLO)
        sizes = {w.octets for w in workloads.WORKLOADS if w.is_file}
        for octets in sizes.union(*({octets for octets, _ in w.resources} for w in workloads.WORKLOADS)):
            self.write(f"www/{octets}.bin", content_of(octets))
        for octets in {w.octets for w in workloads.WORKLOADS if w.coded}:
            sites.write_texts(self, octets, content_of(octets))

        self.certificate, self.key = self.path("localhost.pem"), self.path("localhost.key")
        if shutil.which("openssl"):
            self.certify()

    def certify(self):
        """As peers and Skua show it."""
        make_certificate(self.certificate, self.key)
        with open(self.certificate, encoding="ascii") as certificate, open(self.key, encoding="ascii") as key:
            self.write("localhost.both", certificate.read() + key.read())  # haproxy wants one file

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def built(self, name):
        path = os.path.join(self.build, name)
        if os.access(path, os.X_OK):
            return path
        path = os.path.join(self.build, "bench", name)
        return path if os.access(path, os.X_OK) else None


def content_of(octets):
    """Text that looks like a table of numbers, the same in every run."""
    lines = "".join(f"{i:07d} {i * 2654435761 % 4294967296:10d}\n" for i in range(octets // 19 + 1))
    return lines.encode()[:octets]


class Entrant:
    kind = "peer"
    role = ""
    speaks_http2 = False
    over_http1 = False  # where everyone else is asked over HTTP/2
    serves_sites = False  # takes part in those of sites.py

    def __init__(self, name):
        self.name = name
        self.missing = None  # why it cannot take part

    def argv(self, workload, place, port):
        raise NotImplementedError

    def backend_of(self, words):
        """Which backend it runs on, by what it said as it started; None where there is no choice."""
        return None


# ---- Ceilings ----

# The kernel's interfaces that there is a ceiling on, by name, and its program.
PROGRAM_OF = {"epoll": "epoll", "io_uring": "uring"}


class Ceiling(Entrant):
    """The loop without HTTP. head: the octets it sends before the content, Skua's own where it runs."""

    kind = "ceiling"
    speaks_http2 = True

    def __init__(self, interface, way, place):
        super().__init__(f"ceiling, {interface}" + (" by sendfile" if way == "sendfile" else ""))
        self.way = way
        self.program = place.built("bench_ceiling_" + PROGRAM_OF[interface])
        self.head = None
        if not self.program:
            self.missing = "not built (cmake -DSKUA_BENCH=ON)"

    def argv(self, workload, place, port):
        if workload.tls or self.way not in workload.ceilings:
            return None
        return self.argv_of(workload, place, port, self.way == "sendfile")

    def argv_of(self, workload, place, port, by_file):
        if workload.http2:
            return self.argv_http2(workload, place, port) + (["--send", "file"] if by_file else [])
        head = self.head + (b"" if workload.is_file else workloads.HELLO)
        argv = [self.program, "--port", port, "--head", place.write(f"{workload.name}.head", head)]
        if workload.is_file:
            argv += ["--file", os.path.join(place.www, f"{workload.octets}.bin")]
        if by_file:
            argv += ["--send", "file"]
        return argv + (["--close"] if workload.close else [])

    def argv_http2(self, workload, place, port):
        first, again = http2.blocks_of(self.head)
        content = f"{workload.octets}.bin" if workload.is_file else "hello.txt"
        return [self.program, "--port", port, "--first", place.write(f"{workload.name}.first", first),
                "--head", place.write(f"{workload.name}.head", again), "--file", os.path.join(place.www, content)]


# Ways to protect octets, and what the program calls them.
RECORDS_OF = {"ready": "ready", "keyed": "keyed", "openssl": "openssl", "pread": "ready"}


class TlsCeiling(Ceiling):
    """The loop without HTTP over TLS, on epoll."""

    NAMES = {"ready": "ready contexts", "keyed": "contexts keyed again", "openssl": "OpenSSL's records", "pread": "pread and seal"}

    def __init__(self, way, place):
        Entrant.__init__(self, "ceiling, " + self.NAMES[way])
        self.way = way
        self.program = place.built("bench_ceiling_tls")
        self.head = None
        if not self.program:
            self.missing = "not built (cmake -DSKUA_BENCH=ON -DSKUA_TLS=ON)"

    def argv(self, workload, place, port):
        if not workload.tls or self.way not in workload.ceilings:
            return None
        return self.argv_of(workload, place, port, self.way == "pread") + [
            "--cert", place.certificate, "--key", place.key, "--records", RECORDS_OF[self.way]]


def default_head(workload):
    """A head like Skua's, for when Skua is not there to be asked."""
    lines = ["HTTP/1.1 200 OK", "Date: Sun, 06 Nov 1994 08:49:37 GMT", f"Content-Length: {workload.octets}"]
    if workload.is_file:
        lines += ["Content-Type: application/octet-stream", 'ETag: "1f3a5b7c9d-1400-17f0e1d2c3b4a596"',
                  "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", "Accept-Ranges: bytes"]
    else:
        lines += ["Content-Type: text/plain"]
    if workload.close:
        lines += ["Connection: close"]
    return "\r\n".join(lines + ["", ""]).encode()


# ---- Skua ----


class Skua(Entrant):
    kind = "skua"
    speaks_http2 = True
    serves_sites = True

    def __init__(self, place, backend=None, library=None):
        super().__init__(f"Skua on {backend}" if backend else f"Skua with {library}" if library else "Skua")
        if backend:
            self.kind = "backend"
        self.backend = backend or "auto"
        self.library = library  # another TLS library than the system's
        if library:
            self.kind = "library"
        self.hello = place.built("hello")
        self.program = place.built("skua")
        if not self.hello and not self.program:
            self.missing = "not built"

    def argv(self, workload, place, port):
        if self.library and not workload.tls:
            return None
        if workload.site:
            return sites.skua(self.program, workload, place, port, self.backend) if self.program else None
        pair = ["--cert", place.certificate, "--key", place.key] if workload.tls else []
        if workload.is_file:
            if not self.program:
                return None
            return [self.program, place.www, "--listen", f"127.0.0.1:{port}", *pair,
                    "--workers", 1, "--log", "none", "--host", "*", "--backend", self.backend]
        if not self.hello:
            return None
        return [self.hello, "--tls-port" if pair else "--port", port, *pair, "--workers", 1, "--backend", self.backend]

    def backend_of(self, words):
        """Raises when another than the one it is named after has come in its place."""
        refused = re.search(r"^.*cannot be used.*$", words, re.MULTILINE)
        if refused:
            raise RuntimeError(refused.group())
        found = re.search(r"backend: (\w+)|\((\w+)\)\.?$", words, re.MULTILINE)
        return (found.group(1) or found.group(2)) if found else None


def over_http1(name):
    """The name of the Skua that is asked over HTTP/1, beside the one of that name."""
    return name.replace("Skua", "Skua over HTTP/1", 1)


class SkuaOverHttp1(Skua):
    """Beside everyone that is asked over HTTP/2, by the same client."""

    over_http1 = True

    def __init__(self, place, backend=None):
        super().__init__(place, backend)
        self.name, self.kind = over_http1(self.name), "peer"

    def argv(self, workload, place, port):
        return super().argv(workload, place, port) if workload.beside_http1 else None


class SkuaWithOneSite(Skua):
    """Beside one that has a thousand."""

    def __init__(self, place):
        super().__init__(place)
        self.name, self.kind = "Skua with one site", "peer"

    def argv(self, workload, place, port):
        return sites.skua(self.program, workload, place, port, one=True) if workload.site == "sites" and self.program else None


# ---- Peers from the distribution ----


class Packaged(Entrant):
    """A peer that the system installed. Subclasses write its configuration."""

    command = None

    def __init__(self):
        super().__init__(self.command)
        self.program = shutil.which(self.command) or shutil.which(self.command, path="/usr/sbin:/usr/local/sbin")
        if not self.program:
            self.missing = "not installed"


class Nginx(Packaged):
    command = "nginx"
    speaks_http2 = True
    serves_sites = True

    def argv(self, workload, place, port):
        how = sites.nginx(workload, place, port) or "access_log off;"
        if workload.site and how == "access_log off;":
            return None
        folder = place.path("nginx")
        os.makedirs(folder, exist_ok=True)
        temporary = "".join(f"    {kind}_temp_path {folder}/{kind};\n"
                            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        tls = (" ssl", f"""
        ssl_certificate {place.certificate};
        ssl_certificate_key {place.key};
        ssl_protocols TLSv1.3;""") if workload.tls else ("", "")
        path = place.write(f"nginx-{port}.conf", f"""
daemon off;
{"user root;" if os.geteuid() == 0 else ""}
worker_processes 1;
worker_rlimit_nofile 20000;
pid {folder}/{port}.pid;
error_log {folder}/error.log crit;
events {{ worker_connections {CONNECTIONS_MAX}; }}
http {{
{temporary}
    {how if "access_log" in how else "access_log off; " + how}
    server_tokens off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_timeout 300s;
    keepalive_requests 1000000000;
    open_file_cache max=1000 inactive=60s;
    default_type application/octet-stream;
    types {{ text/plain txt; }}
    server {{
        listen 127.0.0.1:{port} backlog=4096 deferred{tls[0]}{" http2" if workload.http2 else ""};
{tls[1]}
        root {sites.root_of(workload, place)};
        location = / {{ default_type text/plain; return 200 "Hello, World!"; }}
        location / {{ }}
    }}
}}
""")
        return [self.program, "-p", folder, "-e", f"{folder}/error.log", "-c", path]


class H2o(Packaged):
    command = "h2o"
    speaks_http2 = True
    serves_sites = True

    def argv(self, workload, place, port):
        how = sites.h2o(workload, place, port)
        if workload.site and not how:
            return None
        tls = f"""
  ssl:
    certificate-file: {place.certificate}
    key-file: {place.key}
    minimum-version: TLSv1.3
    neverbleed: OFF""" if workload.tls else ""
        path = place.write(f"h2o-{port}.conf", f"""
num-threads: 1
max-connections: {CONNECTIONS_MAX}
{"user: root" if os.geteuid() == 0 else ""}
http1-request-timeout: 300
file.index: ['hello.txt']
{how or ""}
listen:
  host: 127.0.0.1
  port: {port}
{tls}
hosts:
  default:
    paths:
      "/":
        file.dir: {sites.root_of(workload, place)}
""")
        return [self.program, "-c", path]


class Nghttpd(Packaged):
    """It speaks nothing but HTTP/2, and answers hello from a file."""

    command = "nghttpd"
    speaks_http2 = True

    def argv(self, workload, place, port):
        if not workload.http2:
            return None
        place.write("www/index.html", workloads.HELLO)  # its only name for "/"
        pair = [place.key, place.certificate] if workload.tls else []
        return [self.program, "-a", "127.0.0.1", "-d", place.www, "-n", 1, *([] if pair else ["--no-tls"]), port, *pair]


class Lighttpd(Packaged):
    command = "lighttpd"
    serves_sites = True

    def argv(self, workload, place, port):
        how = sites.lighttpd(workload, place, port)
        if workload.site and not how:
            return None
        tls = f"""
server.modules = ( "mod_openssl" )
ssl.engine = "enable"
ssl.pemfile = "{place.certificate}"
ssl.privkey = "{place.key}"
ssl.openssl.ssl-conf-cmd = ( "MinProtocol" => "TLSv1.3" )""" if workload.tls else ""
        path = place.write(f"lighttpd-{port}.conf", f"""{tls}
server.bind = "127.0.0.1"
server.port = {port}
server.document-root = "{place.www}"
server.max-connections = {CONNECTIONS_MAX}
server.max-fds = 20000
server.listen-backlog = 4096
server.max-keep-alive-requests = 65535
server.max-keep-alive-idle = 300
index-file.names = ( "hello.txt" )
{how or ""}
mimetype.assign = ( ".txt" => "text/plain", "" => "application/octet-stream" )
""")
        return [self.program, "-D", "-f", path]


class Haproxy(Packaged):
    """It sends no files."""

    command = "haproxy"

    def argv(self, workload, place, port):
        if workload.is_file:
            return None
        tls = f" ssl crt {place.path('localhost.both')} ssl-min-ver TLSv1.3" if workload.tls else ""
        path = place.write(f"haproxy-{port}.conf", f"""
global
    nbthread 1
    maxconn 9900
defaults
    mode http
    timeout client 300s
    timeout http-keep-alive 300s
frontend hello
    bind 127.0.0.1:{port} backlog 4096{tls}
    http-request return status 200 content-type text/plain string "Hello, World!"
""")
        return [self.program, "-db", "-f", path]


class Caddy(Packaged):
    command = "caddy"
    serves_sites = True

    def argv(self, workload, place, port):
        how = sites.caddy(workload, place, port)
        if workload.tls or (workload.site and not how):
            return None
        path = place.write(f"caddy-{port}.conf", f"""
{{
    admin off
    auto_https off
}}
:{port} {{
    bind 127.0.0.1
    root * {sites.root_of(workload, place)}
    respond / "Hello, World!"
    {how or "file_server"}
}}
""")
        homes = [f"XDG_{name}_HOME={place.path('caddy')}" for name in ("DATA", "CONFIG")]
        return ["env"] + homes + [self.program, "run", "--config", path, "--adapter", "caddyfile"]


# ---- Peers built from their registries ----


class Built(Entrant):
    """A hello of ours on somebody else's library."""

    toolchain = None
    files_option = None  # where it serves files over HTTP/2 too
    http2_option = None

    def __init__(self, name, place):
        super().__init__(name)
        self.program = None
        tool = shutil.which(self.toolchain) or shutil.which(self.toolchain, path=os.path.expanduser("~/.cargo/bin"))
        if not tool:
            self.missing = f"no {self.toolchain} here"
            return
        try:
            self.program = self.build(tool, place)
        except (OSError, subprocess.SubprocessError) as error:
            self.missing = f"could not be built: {error}"

    def build(self, tool, place):
        raise NotImplementedError

    @property
    def speaks_http2(self):
        return self.http2_option is not None

    def argv(self, workload, place, port):
        if workload.is_file and not workload.http2:
            return None
        if workload.is_file and not self.files_option:
            raise RuntimeError("its program answers hello alone")
        options = [self.http2_option] * workload.http2 + [self.files_option, place.www] * workload.is_file
        return [self.program, *options, port, *([place.certificate, place.key] if workload.tls else [])]


def build_quietly(argv, folder):
    subprocess.run(argv, cwd=folder, check=True, timeout=600, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


class GoHello(Built):
    toolchain = "go"
    files_option = "-files"
    http2_option = "-http2"

    def build(self, tool, place):
        path = place.path("hello-go")
        build_quietly([tool, "build", "-o", path, "."], os.path.join(BENCH, "peers", "go"))
        return path


class HyperHello(Built):
    toolchain = "cargo"
    http2_option = "--http2"

    def build(self, tool, place):
        target = place.path("hello-hyper")
        build_quietly([tool, "build", "--release", "--locked", "--jobs", "2", "--target-dir", target],
                      os.path.join(BENCH, "peers", "hyper"))
        return os.path.join(target, "release", "hello")


class UWebSocketsHello(Built):
    """From the folder that UWEBSOCKETS names: its repository, with that of uSockets inside."""

    toolchain = "c++"

    def build(self, tool, place):
        folder = os.environ.get("UWEBSOCKETS")
        if not folder:
            raise OSError("UWEBSOCKETS names no folder with its sources")
        sockets = os.path.join(folder, "uSockets", "src")
        found = [os.path.join(where, name) for where, _, names in os.walk(sockets) for name in names]
        flags = ["-O3", "-flto=auto", "-DLIBUS_USE_OPENSSL", "-DUWS_NO_ZLIB", "-I", os.path.join(folder, "src"), "-I", sockets]
        objects = place.path("uwebsockets")
        os.makedirs(objects, exist_ok=True)
        build_quietly(["cc", "-std=c11", *flags, "-c", *(name for name in found if name.endswith(".c"))], objects)
        path = place.path("hello-uwebsockets")
        build_quietly([tool, "-std=c++20", *flags, os.path.join(BENCH, "peers", "uwebsockets", "hello.cpp"),
                       *(name for name in found if name.endswith(".cpp")),
                       *(os.path.join(objects, name) for name in os.listdir(objects) if name.endswith(".o")),
                       "-lssl", "-lcrypto", "-pthread", "-o", path], objects)
        return path


def libraries_in(text):
    """By the name of a TLS library, the folder of a build of Skua with it: of the words of --libraries."""
    return dict(given.split("=", 1) for given in text.split(",") if given)


def everyone(place, backends=(), libraries=None):
    """libraries: by name, the folder of a build of Skua with it."""
    ways = sorted({way for workload in workloads.WORKLOADS for way in workload.ceilings if not workload.tls})
    return ([Ceiling(interface, way, place) for interface in PROGRAM_OF for way in ways]
            + [TlsCeiling(way, place) for way in RECORDS_OF]
            + [Skua(place), SkuaOverHttp1(place), SkuaWithOneSite(place)]
            + [kind(place, backend) for backend in backends for kind in (Skua, SkuaOverHttp1)]
            + [Skua(Place(build, place.folder), library=name) for name, build in (libraries or {}).items()]
            + [Nginx(), H2o(), Nghttpd(), Lighttpd(), Haproxy(), Caddy(), GoHello("Go net/http", place), HyperHello("hyper", place),
               UWebSocketsHello("uWebSockets", place)])
