# SPDX-License-Identifier: MIT
"""The Debian packages: lintian finds nothing, and they are installed, upgraded, removed and purged as dpkg does it, in a copy of
this system that is thrown away."""

import os
import shlex
import subprocess

import pytest
from compiling import APP
from released import ABI, VERSION, needed, said

from release import deb  # found by released

# Mounts over which everything is written, and a network of its own; "$1" is the folder for them, the rest a script for the copy.
COPY = """
set -e
mount --make-rprivate /
mount -t tmpfs none "$1" && mkdir "$1/upper" "$1/work" "$1/system" || { echo cannot copy; exit 77; }
mount -t overlay none -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/system" || { echo cannot copy; exit 77; }
mount -t proc none "$1/system/proc"
mount --bind /dev "$1/system/dev"
ip link set lo up
cp -r "$2" "$1/system/packages"
printf '#!/bin/sh\\nexit 101\\n' >"$1/system/usr/sbin/policy-rc.d"
chmod 755 "$1/system/usr/sbin/policy-rc.d"
exec chroot "$1/system" sh -ec "$3"
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    needed("dpkg-buildpackage")
    folder = tmp_path_factory.mktemp("deb")
    made = list(deb.write(folder))
    assert [p.name.split("_")[0] for p in made] == ["libskua-dev", f"libskua{ABI}", "skua"]
    # a later one, by another version and another default page
    later = folder / "later"
    said(["dpkg-deb", "-R", made[2], later])
    control = later / "DEBIAN/control"
    control.write_text(control.read_text().replace(f"Version: {VERSION}-1", f"Version: {VERSION}-2"))
    (later / "usr/share/skua/www/index.html").write_text("the later one")
    said(["dpkg-deb", "--root-owner-group", "-b", later, folder / "later.deb"])
    said(["rm", "-r", later])
    return folder


def in_a_copy(packages, folder, script):
    if os.geteuid() != 0:
        pytest.skip("only root can install packages")
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["unshare", "-m", "-n", "sh", "-c", COPY, "sh", folder, packages, "export DEBIAN_FRONTEND=noninteractive PATH\n" + script],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    if done.returncode == 77 and "cannot copy" in done.stdout:
        pytest.skip(f"this system cannot be copied: {done.stdout}")
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_lintian_finds_nothing(packages):
    root = ["--allow-root"] if os.geteuid() == 0 else []
    found = said([needed("lintian"), *root, "--fail-on", "error,warning", *packages.glob("*skua*.deb")])
    assert "E: " not in found and "W: " not in found


INSTALL = "dpkg -i /packages/skua_*.deb\n"
# as the unit starts it, without a manager: the user, and the right to the ports below 1024
START = """
setpriv --reuid=skua --regid=skua --clear-groups --inh-caps=+net_bind_service --ambient-caps=+net_bind_service \
    skua -c /etc/skua/skua.conf 2>/tmp/said & server=$!
for i in $(seq 100); do curl -sf http://127.0.0.1/ >/tmp/page && break; sleep 0.1; done
"""
STOP = "kill $server; wait $server\n"


def test_installed_it_serves(packages, tmp_path):
    shown = in_a_copy(packages, tmp_path / "copy", INSTALL + """
getent passwd skua
stat -c '%U:%G %a' /var/log/skua
skua check -c /etc/skua/skua.conf
""" + START + "cat /tmp/page\n" + STOP + """
echo "log: $(wc -l </var/log/skua/access.log)"
test -e /lib/systemd/system/skua.service
test -e /usr/share/man/man5/skua.conf.5.gz
logrotate -d /etc/logrotate.d/skua
""")
    assert ":/nonexistent:/usr/sbin/nologin" in shown
    assert "skua:adm 2750" in shown
    assert "It works" in shown and "log: 1" in shown
    assert "error:" not in shown


def test_an_upgrade_keeps_what_the_operator_wrote(packages, tmp_path):
    shown = in_a_copy(packages, tmp_path / "copy", INSTALL + """
sed -i 's/^listen :80$/listen :80\\nworkers 1/' /etc/skua/skua.conf
echo old >/var/log/skua/access.log
dpkg --force-confdef --force-confold -i /packages/later.deb
grep '^workers 1' /etc/skua/skua.conf
cat /usr/share/skua/www/index.html /var/log/skua/access.log
dpkg-query -W skua
""")
    assert "the later one" in shown and "old" in shown and f"{VERSION}-2" in shown


def test_removed_and_purged(packages, tmp_path):
    in_a_copy(packages, tmp_path / "copy", INSTALL + """
echo line >/var/log/skua/access.log
dpkg -r skua
if test -e /usr/bin/skua; then exit 1; fi
test -e /etc/skua/skua.conf
test -e /var/log/skua/access.log
dpkg -P skua
for left in /etc/skua /var/log/skua /usr/share/skua /etc/logrotate.d/skua; do if test -e $left; then echo $left; exit 1; fi; done
""")


def test_the_library_for_development(packages, tmp_path):
    (tmp_path / "files").mkdir()
    app = shlex.quote(APP.replace("<skua.h>", "<skua/skua.h>"))
    shown = in_a_copy(packages, tmp_path / "copy", f"dpkg -i /packages/libskua*.deb\nprintf '%s' {app} >/tmp/app.c\n" + """
cc /tmp/app.c $(pkg-config --cflags --libs skua) -o /tmp/app
readelf -d /tmp/app | grep NEEDED
dpkg -P libskua-dev
""")
    assert f"libskua.so.{ABI}" in shown
