# SPDX-License-Identifier: MIT
"""The bench's small parts: that they run, and that they read what clients print."""

import collections
import dataclasses
import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import types
import xml.etree.ElementTree

import pytest
from ports import free_port
from server import Server, eventually, numbered

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RELEASE = ROOT / "build/release"
sys.path.insert(0, str(ROOT / "bench"))
import chart  # noqa: E402  (the bench is no package)
import entrants  # noqa: E402
import http2  # noqa: E402
import loads  # noqa: E402
import report  # noqa: E402
import seeds  # noqa: E402
import sites  # noqa: E402
from workloads import PAGE, WORKLOADS, Workload  # noqa: E402

AB = """
Complete requests:      980
Failed requests:        3
   (Connect: 0, Receive: 0, Length: 3, Exceptions: 0)
Non-2xx responses:      2
Requests per second:    20123.45 [#/sec] (mean)
  50%      4
  99%     11
"""
WRK = """
    Latency Distribution
     50%  812.00us
     99%    2.50ms
  401234 requests in 2.00s, 57.00MB read
  Socket errors: connect 7, read 0, write 0, timeout 12
Requests/sec: 200617.00
"""
H2LOAD = """
finished in 1.50s, 190256.00 req/s, 7.62MB/s
requests: 190256 total, 190256 started, 190250 done, 190247 succeeded, 9 failed, 6 errored, 2 timeout
status codes: 190247 2xx, 1 3xx, 2 4xx, 0 5xx
traffic: 7.62MB (7990867) total, 3.89MB (4077866) headers (space savings 93.71%), 4.60MB (4818528) data
"""


@pytest.mark.test_all
@pytest.mark.skipif(not (RELEASE / "bench_micro_head").exists(), reason="the bench is not built")
def test_micro():
    """Both ways agree about every sample, or there would be no figures."""
    done = subprocess.run([sys.executable, ROOT / "bench/micro.py", "--json"], stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    assert {case["noun"] for case in found["cases"]} - {"hpack"} == {"head", "chunked", "target", "answer"}
    for case in found["cases"]:
        assert all(ns > 0 for ns in case["ns"]), case
        if found["counted_by"] in ("callgrind", "perf_event_open"):
            assert all(count > 20 for count in case["instructions"]), case


@pytest.fixture
def ask(launch, tmp_path):
    """ask(rate, during) runs the bench's client for a second and gives its counts; during(server) runs meanwhile."""
    if not (RELEASE / "bench_client").exists():
        pytest.skip("the bench is not built")
    server = launch(numbered, "hello", "--workers", "1", build=RELEASE)
    (tmp_path / "request").write_bytes(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")

    def run(rate, during=None):
        argv = [RELEASE / "bench_client", "--port", str(server.port), "--connections", "4", "--request", tmp_path / "request",
                "--seconds", "1", "--rate", str(rate)]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout.readline() == "ready\n"
            client.stdin.write("go\n")
            client.stdin.flush()
            if during:
                during(server)
            counts = json.loads(client.stdout.readline())
            client.communicate("end\n")
        assert client.returncode == 0
        return counts

    return run


@pytest.mark.skipif(not (RELEASE / "bench_ceiling_tls").exists(), reason="the bench is not built with TLS")
@pytest.mark.parametrize("closes", [False, True])
def test_client_over_tls(tmp_path, closes):
    """Either way each answer is counted once, and no handshake fails."""
    place = entrants.Place(RELEASE, str(tmp_path))
    workload = Workload("tls", "TLS", "own", 4, tls=True, close=closes)
    port = free_port()
    server = Server([RELEASE / "hello", "--tls-port", str(port), "--cert", place.certificate, "--key", place.key],
                    ("127.0.0.1", port))
    try:
        measured = types.SimpleNamespace(port=port, cpu_ns=lambda: 0)

        def requests():
            found = loads.Loads(str(tmp_path), str(RELEASE / "bench_client"), 1, 0).own(workload, measured)
            assert found["errors"] == {}
            return found["requests"]

        assert eventually(lambda: requests() > 4)
    finally:
        server.stop()


@pytest.fixture
def read_pages(launch, tmp_path):
    """read_pages(resources) reads such pages for a second. Returns the client's figures and the targets in the server's log."""
    if not (RELEASE / "bench_page").exists():
        pytest.skip("the bench is not built with nghttp2 and TLS")
    place, port = entrants.Place(RELEASE, str(tmp_path)), free_port()
    server = launch(Server, [RELEASE / "skua", place.www, "--listen", f"127.0.0.1:{port}", "--cert", place.certificate,
                             "--key", place.key, "--log", "json"], ("127.0.0.1", port))

    def run(resources):
        workload = next(w for w in WORKLOADS if w.name == "h2-page")
        workload = dataclasses.replace(workload, connections=3, resources=resources)
        measured = types.SimpleNamespace(port=port, cpu_ns=lambda: 0)
        figures = loads.Loads(str(tmp_path), None, 1, 0, page_path=str(RELEASE / "bench_page")).page(workload, measured)
        server.signal()
        server.judge_end()
        log = os.pread(server.out.fileno(), os.fstat(server.out.fileno()).st_size, 0)
        return figures, [line["request"]["uri"] for line in map(json.loads, log.splitlines()) if line["request"]["proto"] == "HTTP/2.0"]

    return run


def test_pages_are_read_whole(read_pages):
    """Each resource once for each document."""
    found, targets = read_pages(PAGE)
    assert found["errors"] == {} and found["requests"] >= 3 * len(PAGE)
    assert found["requests"] == len(targets) - 3 * len(PAGE)  # which came before the clock ran
    assert collections.Counter(targets) == {f"/{octets}.bin": len(targets) / len(PAGE) for octets, _ in PAGE}


def test_wrong_resources_of_a_page_are_found(read_pages):
    found, _ = read_pages([PAGE[0], (1, "u=0")])  # there is no such file
    assert found["errors"] == {"wrong_answers": 3} and found["requests"] == 0


def test_open_loop_asks_by_the_clock(ask):
    counts = ask(500)
    assert counts["requests"] == 500 and not any(counts[kind] for kind in loads.ERRORS_OF_CLIENT)


def test_open_loop_counts_what_a_stall_delays(ask):
    """A closed loop would see four slow answers in a thousand; four hundred were late."""

    def stall(server):
        time.sleep(0.3)
        os.kill(server.pid, signal.SIGSTOP)
        time.sleep(0.4)
        os.kill(server.pid, signal.SIGCONT)

    def latency():
        counts = ask(1000, stall)
        assert counts["requests"] == 1000 and not any(counts[kind] for kind in loads.ERRORS_OF_CLIENT)
        return counts["p99_ms"]

    assert eventually(lambda: 300 < latency() < 2000)  # more where the machine stalls, too


def test_ab_is_read():
    assert loads.ab_figures(AB, 1000) == {
        "requests": 980, "per_second": 20123.45, "errors": {"failed": 3, "not 2xx": 2, "unfinished": 20},
        "p50_ms": 4, "p99_ms": 11,
    }


def test_wrk_is_read():
    assert loads.wrk_figures(WRK) == {
        "requests": 401234, "per_second": 200617, "errors": {"connect": 7, "timeout": 12}, "p50_ms": 0.812, "p99_ms": 2.5,
    }


def test_h2load_is_read():
    assert http2.figures_of(H2LOAD) == {
        "requests": 190247, "errors": {"failed": 9, "timeout": 2, "not 2xx": 3}, "octets": 7990867, "content_octets": 4818528,
    }
    assert http2.figures_of("")["requests"] == 0


def test_field_blocks_of_the_ceilings():
    """The second block refers to what the first has put into the table."""
    hpack = pytest.importorskip("hpack")
    head = b"HTTP/2 200 \r\ncontent-length: 13\r\nX-own: a\r\nConnection: close\r\nDate: Sun, 06 Nov 1994\r\n\r\n"
    first, again = http2.blocks_of(head)
    decoder = hpack.Decoder()
    fields = [(":status", "200"), ("content-length", "13"), ("x-own", "a"), ("date", "Sun, 06 Nov 1994")]
    assert [decoder.decode(block) for block in (first, again, again)] == [fields] * 3
    assert len(again) == 4


@pytest.fixture(params=[False, True], ids=["h2c", "h2"])
def over_http2(request, tmp_path):
    """A workload over HTTP/2, a server that does it, and where it lies."""
    if not (RELEASE / "bench_ceiling_tls").exists() or not http2.is_installed():
        pytest.skip("the bench is not built with TLS, or h2load and curl are not installed")
    place = entrants.Place(RELEASE, str(tmp_path))
    workload = Workload("h2", "HTTP/2", "h2load", 4, http2=True, streams=8, tls=request.param)
    port = free_port()
    server = Server([str(word) for word in entrants.Skua(place).argv(workload, place, port)], ("127.0.0.1", port))
    server.cpu_ns = lambda: time.process_time_ns()
    server.over_http1 = False
    yield workload, server, place
    server.stop()


def test_a_load_over_http2(over_http2):
    workload, server, place = over_http2
    octets, head = http2.check(workload, server, b"Hello, World!", place.certificate)
    assert octets > 9 + 9 + 13 and head.startswith(b"HTTP/2 200")

    def requests():
        found = loads.Loads(place.folder, None, 1, 0).run(workload, server)
        assert found["errors"] == {} and found["client_ns"] > 0
        return found["requests"]

    assert eventually(lambda: requests() > 32)


def test_wrong_answers_over_http2_are_found(over_http2):
    workload, server, place = over_http2
    with pytest.raises(RuntimeError, match="content"):
        http2.check(workload, server, b"Hello, world!", place.certificate)
    with pytest.raises(RuntimeError, match="13.0 octets an answer, not 14"):
        http2.load_once(dataclasses.replace(workload, octets=14), server)
    server.over_http1 = True
    assert http2.fetch(workload, server, place.certificate)[:2] == ("1.1", "200")


def test_everyone_sends_the_same_coded_octets(tmp_path):
    """A file that lies compressed comes as it lies; of two that compress, neither sends a hundredth more."""
    place = entrants.Place(RELEASE, str(tmp_path))
    lying, made = (next(w for w in WORKLOADS if w.name == name) for name in ("precompressed", "compressed"))
    packed = pathlib.Path(place.path(f"pre/{lying.octets}.txt.gz")).read_bytes()
    sites.check_coded(lying, place, packed, None)
    for other in (packed[:-1], packed + b"x", gzip.compress(entrants.content_of(lying.octets), 1)):
        with pytest.raises(RuntimeError, match="not the file that lies compressed"):
            sites.check_coded(lying, place, other, len(packed))
    sites.check_coded(made, place, b"x" * 900, None)
    for octets in (990, 1000, 1010):
        sites.check_coded(made, place, b"x" * octets, 1000)
    for octets in (989, 1011):
        with pytest.raises(RuntimeError, match=f"compressed to {octets} octets, where Skua has 1000"):
            sites.check_coded(made, place, b"x" * octets, 1000)
    sites.wait_until_settled(lying, place)
    assert time.time() - os.stat(place.path(f"pre/{lying.octets}.txt")).st_ctime > 2


def test_sites_run_on_the_backend_that_is_named(tmp_path):
    place = entrants.Place(RELEASE, str(tmp_path))
    if not place.built("skua"):
        pytest.skip("skua is not built")
    workload = next(w for w in WORKLOADS if w.name == "log-json")
    for given, written in ((None, "auto"), ("epoll", "epoll")):
        path = entrants.Skua(place, given).argv(workload, place, 1)[-1]
        assert f"\nbackend {written}\n" in pathlib.Path(path).read_text()


def test_seeds_show_medians_and_every_error():
    results = {"nginx": [(100.0, 9.0, {})] * 3, "Skua": [(150.0, 6.0, {"read": 1}), (90.0, 8.0, {"read": 2}), (200.0, None, {})]}
    assert seeds.cell(results["Skua"]) == "150/s (7.0 µs); 3 read errors"
    assert seeds.ratio(results, "Skua", "nginx") == "1.50"
    assert seeds.ratio({"Skua": results["Skua"]}, "Skua", "nginx") == "–"


# ---- The report ----

CLOSED = Workload("hello", "Hello", "wrk", 200, ratio_target=1.05, below_peers=True)
OPEN = Workload("open-50", "Open", "own", 200, share=0.5, peer_ratio=1.1, no_errors=True)
IDLE = Workload("idle", "Idle", "idle", 100)


class NothingBuilt:
    """A place without programs."""

    @staticmethod
    def built(name):
        return None


@dataclasses.dataclass
class Entrant:
    name: str
    kind: str


def result(figure):
    return {"figure": figure, "requests": 1000, "errors": {}, "client_ns": 7000000, "per_second": 5000.0, "p50_ms": 0.125,
            "p99_ms": 0.5}


def summed_up(workload, skipped=(), **rounds):
    """rounds: by kind and name joined by "__", the figures."""
    crowd = [Entrant(key.partition("__")[2].replace("_", " "), key.partition("__")[0]) for key in rounds]
    results = {entrant.name: [result(figure) for figure in figures] for entrant, figures in zip(crowd, rounds.values())}
    about = {entrant.name: {"answer_octets": 100, "backend": "epoll" if entrant.kind == "skua" else None} for entrant in crowd}
    return report.workload_summary(workload, crowd, results, about, dict(skipped))


def shown(*summaries, missing=()):
    here = {"processor": "P", "cores": 2, "kernel": "6", "congestion_control": "reno", "date": "2026-01-01", "versions": {}}
    return {"machine": here, "rounds": 7, "seconds": 1, "missing": dict(missing), "malformed": [], "refused": {},
            "workloads": list(summaries)}


def of(summary, name):
    return report.find(summary, name)


def test_the_ceiling_is_the_one_of_the_smaller_median():
    """By medians, not by its luckiest round or its mean; ratios are then to it, round by round."""
    summary = summed_up(CLOSED, ceiling__epoll=[6, 6, 2, 6, 6, 6, 6], ceiling__io_uring=[5, 5, 5, 9, 50, 5, 5],
                        skua__Skua=[6, 6, 6, 9, 60, 6, 5.5])
    assert summary["reference"] == "io uring"
    assert of(summary, "Skua")["ratio"] == {"ratio": 1.2, "low": 1.0, "high": 1.2, "rounds": 7, "is_interval": True}
    assert of(summary, "Skua")["ratios"]["io uring"] == of(summary, "Skua")["ratio"]
    assert of(summary, "Skua")["ratios"]["epoll"]["ratio"] == 1.0
    assert of(summary, "io uring")["ratio"]["ratio"] == 1.0
    assert of(summary, "epoll")["ratio"]["ratio"] == 1.2


def test_each_workload_has_its_own_ceiling():
    dearer = summed_up(CLOSED, ceiling__epoll=[5] * 7, ceiling__io_uring=[6] * 7, skua__Skua=[6] * 7)
    assert dearer["reference"] == "epoll"
    assert [v["verdict"] for v in dearer["verdicts"]] == ["missed"]


def test_a_ceiling_that_failed_in_some_rounds_is_behind():
    """A few good rounds may have been in quiet moments."""
    summary = summed_up(CLOSED, ceiling__epoll=[6] * 7, ceiling__io_uring=[3, None, None, None, None, None, 3],
                        skua__Skua=[6] * 7)
    assert summary["reference"] == "epoll"
    assert summed_up(CLOSED, ceiling__epoll=[None] * 7, skua__Skua=[6] * 7)["reference"] is None


def test_a_ceiling_that_is_refused_is_left_out_and_named():
    why = {"ceiling, io_uring": "io_uring_setup: Operation not permitted"}
    summary = summed_up(CLOSED, why, ceiling__epoll=[6] * 7, skua__Skua=[6] * 7)
    text = report.table(shown(summary, missing={"caddy": "not installed"}))
    assert "- ceiling, io_uring left out: io_uring_setup: Operation not permitted" in text
    assert "- The best ceiling ◂: epoll, the only one" in text
    assert "- caddy took no part: not installed" in text


def test_targets_against_one_peer_and_in_octets():
    """A peer that did not take part has no verdict."""
    against = dataclasses.replace(CLOSED, ratio_target=None, below_peers=False, ratios_to={"nginx": 0.75, "h2o": 0.6, "away": 1})
    summary = summed_up(against, skua__Skua=[3] * 7, peer__nginx=[4] * 7, peer__h2o=[4] * 7)
    assert [(v["asked"], v["verdict"]) for v in summary["verdicts"]] == [
        ("≤ 0.75 × nginx", "met, whole interval"), ("≤ 0.60 × h2o", "missed")]
    small = dataclasses.replace(IDLE, octets_target=640)
    assert [v["verdict"] for v in summed_up(small, skua__Skua=[640])["verdicts"]] == ["met"]
    assert [v["verdict"] for v in summed_up(small, skua__Skua=[641])["verdicts"]] == ["missed"]


def test_http2_is_held_against_http1_on_the_same_backend():
    beside = dataclasses.replace(CLOSED, ratio_target=None, below_peers=False, ratios_to={"Skua over HTTP/1": 1.15})
    summary = summed_up(beside, **{"skua__Skua": [5] * 7, "peer__Skua over HTTP/1": [5] * 7, "backend__Skua on epoll": [6] * 7,
                                   "peer__Skua over HTTP/1 on epoll": [5] * 7})
    assert [(v["server"], v["asked"], v["verdict"]) for v in summary["verdicts"]] == [
        ("Skua", "≤ 1.15 × Skua over HTTP/1", "met, whole interval"),
        ("Skua on epoll", "≤ 1.15 × Skua over HTTP/1 on epoll", "missed")]


def test_the_table_names_the_ceiling_and_shows_the_other():
    summary = summed_up(CLOSED, ceiling__epoll=[6] * 7, ceiling__io_uring=[5] * 7, skua__Skua=[5.5] * 7,
                        backend__Skua_on_uring=[5.1] * 7, peer__nginx=[8] * 7)
    lines = report.table(shown(summary)).splitlines()
    assert "| io uring ◂ | 5.00 | 1.00 (1.00–1.00) | 7.00 | 5,000 | 0.50 | 100 | 0 |" in lines
    assert "| epoll | 6.00 | 1.20 (1.20–1.20) | 7.00 | 5,000 | 0.50 | 100 | 0 |" in lines
    assert "- The best ceiling ◂: io uring; the others: epoll 6.00" in lines
    assert "- Skua ≤ 1.05 × the ceiling: 1.10 (1.10–1.10), **missed**" in lines
    assert "- Skua on uring ≤ 1.05 × the ceiling: 1.02 (1.02–1.02), **met, whole interval**" in lines
    assert "- Skua below nginx: 0.69 (0.69–0.69), **met, whole interval**" in lines


def test_an_open_loop_is_held_against_the_best_peer():
    summary = summed_up(OPEN, ceiling__epoll=[0.1] * 7, skua__Skua=[0.21] * 7, peer__nginx=[0.2] * 7, peer__hyper=[0.3] * 7)
    assert summary["reference"] == "nginx"
    lines = report.table(shown(summary)).splitlines()
    assert "| Skua (epoll) | 0.210 | 1.05 (1.05–1.05) | 0.125 | 5,000 | 100 | 0 |" in lines
    assert "| hyper | 0.300 | 1.50 (1.50–1.50) | 0.125 | 5,000 | 100 | 0 |" in lines
    assert "- Skua ≤ 1.10 × the best peer, nginx: 1.05 (1.05–1.05), **met, whole interval**" in lines
    assert "- Skua no errors: **met**" in lines


def test_a_page_is_held_against_the_best_peer():
    page = next(w for w in WORKLOADS if w.name == "h2-page")
    assert report.reference_kind(page) == "peer" and page.peer_ratio == 0.6


def test_an_open_loop_without_peers_has_no_ratios():
    lines = report.table(shown(summed_up(OPEN, skua__Skua=[0.21] * 7))).splitlines()
    assert "| Skua (epoll) | 0.210 | – | 0.125 | 5,000 | 100 | 0 |" in lines
    assert "- Skua ≤ 1.10 × the best peer: **not measured**" in lines


def test_memory_is_held_against_nothing():
    summary = summed_up(IDLE, ceiling__epoll=[0.5], skua__Skua=[528])
    assert summary["reference"] is None and of(summary, "Skua")["ratio"] is None
    assert "| Skua (epoll) | 528 | 100 | 0 |" in report.table(shown(summary)).splitlines()


@pytest.mark.parametrize("words, backend", [
    ("hello: http://127.0.0.1:18007, workers: 1, backend: epoll", "epoll"),
    ("skua 0.1.0 serves /srv at http://127.0.0.1:18013 with 1 worker (uring).", "uring"),
    ("", None),
])
def test_which_backend_it_was_is_read(words, backend):
    assert entrants.Skua(NothingBuilt, "uring").backend_of(words) == backend


def test_a_backend_that_was_replaced_is_not_measured():
    words = "skua: uring cannot be used (io_uring_setup: permission denied); epoll is used\nhello: backend: epoll"
    with pytest.raises(RuntimeError, match=r"^skua: uring cannot be used .*; epoll is used$"):
        entrants.Skua(NothingBuilt, "uring").backend_of(words)


def test_the_picture_marks_the_better_ceiling_only():
    closed = summed_up(CLOSED, ceiling__epoll=[6] * 7, ceiling__io_uring=[5] * 7, skua__Skua=[5.5] * 7)
    opened = summed_up(OPEN, ceiling__epoll=[0.1] * 7, skua__Skua=[0.22] * 7, peer__nginx=[0.2] * 7)
    idle = summed_up(IDLE, ceiling__epoll=[0.5], skua__Skua=[528])
    drawn = chart.draw(shown(closed, opened, idle))
    words = [element.text for element in xml.etree.ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert "io uring" in words and "epoll" not in words
    assert "5.50 µs  ×\u20091.10" in words and "0.22 ms  ×\u20091.10" in words and "528 octets" in words
