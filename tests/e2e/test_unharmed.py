# SPDX-License-Identifier: MIT
"""A server that is given other configurations while it is used, and clients of whom none may notice."""

import os
import signal

import pytest
from certificates import make
from conf import children, of, process_of, start, write_folder
from server import eventually, free_port, lacks_tls
from unharmed import SITE, Crowd

pytestmark = [pytest.mark.in_the_clear("it configures addresses of its own"),
              pytest.mark.of_http1("it speaks both"),
              pytest.mark.skipif(bool(lacks_tls()), reason="TLS is one of the transports")]

# How many workers serve, and which addresses come and go.
WORKERS = (3, 1, 4, 2)
MORE = ("", "listen 127.0.0.1:{one}\n", "listen 127.0.0.1:{one}\nlisten 127.0.0.1:{two} tls\nlisten unix:{folder}/s\n",
        "listen 127.0.0.1:{two} tls\n")


class House:
    """A server, its file, and a crowd in it."""

    def __init__(self, folder, launch):
        self.folder, self.count = folder, 0
        self.ports = {"one": free_port(), "two": free_port(), "folder": folder}
        self.status = free_port()
        self.pair = make(folder, "unharmed", names="DNS:unharmed.test")
        (folder / "big").mkdir()
        self.server = launch(start, folder, self.text("listen 127.0.0.1:PORT\nlisten 127.0.0.1:TLS_PORT tls\n", 0))
        file = (folder / "skua.conf").read_text()
        self.listens = "".join(line + "\n" for line in file.splitlines() if line.startswith(("backend", "listen")))

    def text(self, listens, number):
        return (f"{listens}status 127.0.0.1:{self.status}\nworkers {WORKERS[number % 4]}\naccess_log {self.folder}/access.log short\n"
                + MORE[number % 4].format(**self.ports)
                + SITE.replace("root big", "certificate unharmed.pem unharmed.key\n    root big\n    upload 1MiB overwrite anyone")
                + ("site other.test {\n    root pub\n}\n" if number % 3 == 1 else ""))

    def crowd(self):
        return Crowd(self.server.address, self.folder, secure=self.server.secure, trusted=self.pair.cert,
                     status=("127.0.0.1", self.status), put_statuses=(201, 204), takes_uploads=True)

    def said(self):
        return self.server.error_text().count("the configuration has been read again")

    def reload(self):
        said = self.said()
        self.count += 1
        (self.folder / "skua.conf").write_text(self.text(self.listens, self.count))
        self.server.signal(signal.SIGHUP)
        assert eventually(lambda: self.said() > said, 60), self.server.error_text()


@of("listen", "workers")
@pytest.mark.parametrize("reloads", [5, pytest.param(50, marks=pytest.mark.test_all)])
def test_reloads(tmp_path, launch, reloads):
    """Workers, addresses and sites come and go: nobody is reset, nobody goes without a response, no line of the log is lost."""
    house = House(write_folder(tmp_path), launch)
    first = process_of(house.server)
    with house.crowd() as crowd:
        for _ in range(reloads):
            house.reload()
            crowd.rests()
    crowd.judge(log=tmp_path / "access.log")
    assert children(house.server.pid) == [first]
    assert "another server process" not in house.server.error_text()


def test_a_crowd_that_is_harmed_says_so(tmp_path, launch):
    house = House(write_folder(tmp_path), launch)
    with house.crowd() as crowd:
        os.kill(process_of(house.server), signal.SIGKILL)
        kept = [f"KeptGet over {transport}," for transport in ("HTTP/1", "TLS", "h2")]
        assert eventually(lambda: all(any(name in fault for fault in crowd.faults) for name in kept)), crowd.faults
    with pytest.raises(AssertionError, match="KeptGet over TLS"):
        crowd.judge()
