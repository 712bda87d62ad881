# SPDX-License-Identifier: MIT
"""The Debian packages: lintian finds nothing, and they are installed, upgraded, removed and purged as dpkg does it, in a copy of
this system that is thrown away, with systemd and without."""

import os
import shlex
import subprocess

import machine
import pytest
from compiling import APP
from released import ABI, VERSION, needed, said

from release import deb  # found by released

# "$2" is the folder of the packages, "$3" a script for the copy. Nothing is started there.
COPY = machine.COPY + """
mount --bind /dev "$system/dev"
cp -r "$2" "$system/packages"
printf '#!/bin/sh\\nexit 101\\n' >"$system/usr/sbin/policy-rc.d"
chmod 755 "$system/usr/sbin/policy-rc.d"
exec chroot "$system" sh -ec "$3"
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


# ---- With systemd ----


@pytest.fixture(scope="module")
def service(packages, tmp_path_factory):
    """A copy of this system with the package, whose service runs."""
    there = {f"/packages/{made.name}": made for made in packages.glob("*.deb")}
    with machine.Machine(tmp_path_factory.mktemp("machine"), there) as running:
        running.run("rm -f /usr/sbin/policy-rc.d; cd /packages; dpkg -i skua_*.deb", within=300)
        yield running


def later(packages, service, version, program=None):
    """Installs a later package of that version. program: what the program is in it. Returns what dpkg said."""
    script = f"""
rm -rf /made; cp -r /packages /made; cd /made
dpkg-deb -R skua_*.deb later
sed -i 's/^Version: .*/Version: {VERSION}-{version}/' later/DEBIAN/control
"""
    if program:
        script += f"mv later/usr/bin/skua later/usr/bin/skua.real\nprintf '%s' {shlex.quote(program)} >later/usr/bin/skua\nchmod 755 later/usr/bin/skua\n"
    return service.run(script + "dpkg-deb --root-owner-group -b later later.deb\ndpkg --force-confold -i later.deb", within=300)


def main_process(service):
    return service.run("systemctl show -p MainPID --value skua")


def runs_what_is_installed(service):
    return service.run("stat -L -c %i /proc/$(systemctl show -p MainPID --value skua)/exe") == service.run("stat -c %i /usr/bin/skua")


def test_the_service_runs(service):
    assert service.run("systemctl is-active skua; systemctl is-enabled skua") == "active\nenabled"
    assert "It works" in service.run("curl -sf http://127.0.0.1/")
    assert runs_what_is_installed(service)


def test_the_sockets_are_there_for_those_who_want_them(service):
    """docs/operating.md has the two words."""
    assert service.ask("systemctl is-enabled skua.socket")[1].strip() == "disabled"
    assert service.ask("systemctl is-active skua.socket")[1].strip() == "inactive"
    service.run("cp /etc/skua/skua.conf /tmp/kept; sed -i 's/^listen :80$/listen fd:3/' /etc/skua/skua.conf; systemctl stop skua; systemctl start skua.socket")
    assert "It works" in service.run("curl -sf http://127.0.0.1/")
    service.run("systemctl stop skua.socket skua; cp /tmp/kept /etc/skua/skua.conf; systemctl start skua")


def test_an_upgrade_of_the_package_is_one_of_the_program(packages, service):
    """In the same process, while a client downloads."""
    service.run("""
head -c 40000000 /dev/urandom >/usr/share/skua/www/big
curl -s --limit-rate 4M http://127.0.0.1/big -o /tmp/big & echo $! >/tmp/client
sleep 1""")
    before = main_process(service)
    assert f"skua {VERSION} serves 1 site" in later(packages, service, 2)
    assert main_process(service) == before and runs_what_is_installed(service)
    assert service.run("systemctl show -p NRestarts --value skua") == "0"
    service.run("while kill -0 $(cat /tmp/client) 2>/dev/null; do sleep 0.1; done; cmp /tmp/big /usr/share/skua/www/big; rm /usr/share/skua/www/big")
    assert "It works" in service.run("curl -sf http://127.0.0.1/")


def test_a_program_that_cannot_take_over(packages, service):
    """It is what a restart is for."""
    before = main_process(service)
    later(packages, service, 3, '#!/bin/sh\n[ -z "$SKUA_TRIAL" ] || exit 3\nexec /usr/bin/skua.real "$@"\n')
    assert "no upgrade: " in service.journal()
    assert main_process(service) != before
    assert service.run("systemctl is-active skua") == "active" and "It works" in service.run("curl -sf http://127.0.0.1/")
    assert service.run("stat -L -c %i /proc/$(systemctl show -p MainPID --value skua)/exe") == service.run("stat -c %i /usr/bin/skua.real")
    later(packages, service, 4)  # and back, since that path is gone
    assert runs_what_is_installed(service)


def test_faults_of_the_configuration_leave_the_service(packages, service):
    before = main_process(service)
    service.run("echo nonsense >>/etc/skua/skua.conf")
    said = later(packages, service, 5)
    assert "nonsense" in said and "the program before goes on" in said
    assert main_process(service) == before and "It works" in service.run("curl -sf http://127.0.0.1/")
    service.run("sed -i /nonsense/d /etc/skua/skua.conf")


def test_a_service_that_is_stopped_and_disabled_stays_so(packages, service):
    service.run("systemctl disable --now skua")
    assert "serves" not in later(packages, service, 6)
    assert service.ask("systemctl is-active skua")[1].strip() == "inactive"
    service.run("systemctl enable --now skua")


def test_its_removal_ends_the_service(service):
    service.run("dpkg -r skua", within=300)
    assert service.ask("systemctl is-active skua")[1].strip() == "inactive"
    assert service.ask("curl -sf http://127.0.0.1/")[0] == 7


# ---- The end ----


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
