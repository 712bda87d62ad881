# SPDX-License-Identifier: MIT
"""The ports that servers under test are given."""

import concurrent.futures
import pathlib
import socket

import ports
import pytest

RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")


def several(_):
    return [ports.free_port() for _ in range(100)]


def test_tests_that_run_at_the_same_time_are_given_different_ports():
    with concurrent.futures.ProcessPoolExecutor(8) as pool:
        given = [port for some in pool.map(several, range(8)) for port in some]
    assert len(given) == len(set(given)) == 800


def test_ports_come_around(monkeypatch, tmp_path):
    monkeypatch.setattr(ports, "COUNTER", tmp_path / "counter")
    monkeypatch.setattr(ports, "is_free", lambda family, port: port != ports.FIRST)
    (tmp_path / "counter").write_text(str(ports.LAST - 1))
    assert [ports.free_port() for _ in range(2)] == [ports.LAST, ports.FIRST + 1]


def test_none_is_free(monkeypatch, tmp_path):
    monkeypatch.setattr(ports, "COUNTER", tmp_path / "counter")
    monkeypatch.setattr(ports, "is_free", lambda family, port: False)
    with pytest.raises(RuntimeError, match="no port from 10240 to 17999 is free"):
        ports.free_port()


def test_a_port_that_somebody_has_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr(ports, "COUNTER", tmp_path / "counter")
    with socket.socket() as other:
        other.bind(("127.0.0.1", ports.free_port()))
        taken = other.getsockname()[1]
        (tmp_path / "counter").write_text(str(taken - 1))
        assert ports.free_port() > taken


def test_the_kernel_gives_none_of_them_to_a_client():
    least, most = map(int, RANGE.read_text().split())
    if (least, most) != (32768, 60999):
        pytest.skip(f"here clients have ports from {least}, which is not the kernel's default")
    assert ports.LAST < least
