# SPDX-License-Identifier: MIT
"""A copy of this system that is thrown away: what is written goes to memory, its network is its own. Packages are installed there,
and systemd runs as its process 1."""

import os
import pathlib
import shutil
import subprocess

import pytest
from server import eventually

# "$1" is an empty folder. Behind it "$system" is the copy, which is still to be entered.
COPY = """
set -e
mount --make-rprivate /
mount -t tmpfs none "$1" && mkdir "$1/upper" "$1/work" "$1/system" || { echo cannot copy; exit 77; }
system=$1/system
mount -t overlay none -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$system" || { echo cannot copy; exit 77; }
mount -t proc none "$system/proc"
ip link set lo up
"""

# The kernel's settings are those of this machine, too: they are read-only, and units that would change them are left away. "$2" is a
# folder whose files are put over those of the copy.
BOOT = COPY + """
mount --bind "$system/proc/sys" "$system/proc/sys"
mount -o remount,ro,bind "$system/proc/sys"
mount -t sysfs -o ro none "$system/sys"
mount -t cgroup2 none "$system/sys/fs/cgroup" || { echo cannot copy: no cgroup2; exit 77; }
mount -t tmpfs -o mode=755 none "$system/dev"
mknod -m 666 "$system/dev/null" c 1 3
mknod -m 666 "$system/dev/zero" c 1 5
mknod -m 666 "$system/dev/full" c 1 7
mknod -m 666 "$system/dev/random" c 1 8
mknod -m 666 "$system/dev/urandom" c 1 9
mknod -m 666 "$system/dev/tty" c 5 0
mkdir "$system/dev/pts" "$system/dev/shm" "$system/dev/mqueue" "$system/dev/hugepages"
mount -t devpts -o newinstance,ptmxmode=0666 none "$system/dev/pts"
ln -s pts/ptmx "$system/dev/ptmx"
ln -s /proc/self/fd "$system/dev/fd"
mount -t tmpfs -o mode=755 none "$system/run"
mount -t tmpfs -o mode=1777 none "$system/tmp"
units=$system/etc/systemd/system
rm -rf "$units"/*.wants "$system/var/log/journal"
for unit in systemd-sysctl systemd-modules-load systemd-remount-fs systemd-tmpfiles-setup systemd-tmpfiles-setup-dev systemd-sysusers \\
    systemd-update-utmp systemd-journal-flush systemd-random-seed; do ln -sf /dev/null "$units/$unit.service"; done
for unit in dev-hugepages dev-mqueue sys-kernel-debug sys-kernel-tracing sys-fs-fuse-connections; do ln -sf /dev/null "$units/$unit.mount"; done
: >"$system/etc/machine-id"
cp -r "$2/." "$system/"
exec setpriv --bounding-set=-sys_module,-sys_time,-sys_rawio chroot "$system" env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
    /lib/systemd/systemd --system --unit=basic.target
"""


def cgroup_folder():
    """Where the kernel's tree of processes is, which systemd needs a branch of."""
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, folder, kind = line.split()[:3]
        if kind == "cgroup2":
            return pathlib.Path(folder)
    return None


class Machine:
    """Runs from the block's begin to its end. put: {path in the copy: content, or a file of this system's}."""

    def __init__(self, folder, put):
        self.folder, self.files = folder / "machine", folder / "files"
        self.folder.mkdir()
        for path, content in put.items():
            to = self.files / path.lstrip("/")
            to.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, pathlib.Path):
                shutil.copy(content, to)
            else:
                to.write_text(content)
        self.group, self.holder, self.first = None, None, None

    def __enter__(self):
        tree = cgroup_folder()
        if os.geteuid() != 0 or tree is None or not os.access("/lib/systemd/systemd", os.X_OK):
            pytest.skip("systemd cannot be started: that needs root, systemd and cgroup2")
        self.group = tree / f"skua-test-{os.getpid()}"
        self.said = open(self.folder.parent / "said", "w+")
        try:
            self.group.mkdir()
            script = f'echo $$ >"{self.group}/cgroup.procs"\nexec unshare -m -p -u -i -n -C --fork --kill-child sh -ec "$0" sh "$1" "$2"'
            self.holder = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "sh", "-ec", script, BOOT, self.folder, self.files], stdin=subprocess.DEVNULL, stdout=self.said, stderr=self.said)
            if not eventually(self._runs, within=60, every=0.1) or self.holder.poll() is not None:
                pytest.skip(f"systemd cannot be started: {self.said.seek(0) or self.said.read()}")
        except OSError as failure:
            self.__exit__()
            pytest.skip(f"systemd cannot be started: {failure}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def _runs(self):
        if self.holder.poll() is not None:
            return True
        inside = pathlib.Path(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children").read_text().split()
        self.first = inside[0] if inside else None
        return self.first and self.ask("systemctl is-system-running")[1].strip() in ("running", "degraded")

    def __exit__(self, *_):
        if self.holder:
            self.holder.kill()  # and so process 1, and with it all others
            self.holder.wait()
        for folder, _, _ in [*os.walk(self.group, topdown=False)]:  # files in it are the kernel's
            assert eventually(lambda folder=folder: self._removed(pathlib.Path(folder)), within=10), folder
        self.said.close()

    @staticmethod
    def _removed(folder):
        try:
            folder.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            return False
        return True

    def ask(self, script, within=120):
        """Runs a script in it, as root. Returns the exit status, and what it wrote."""
        words = ["nsenter", "-t", self.first, "-m", "-p", "-u", "-i", "-n", "-C", "-r", "-w", "env", "-i",
                 "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", script]
        ran = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=within)
        return ran.returncode, ran.stdout

    def run(self, script, within=120):
        """As ask, of what must succeed. Returns what it wrote, without white space at its ends."""
        status, said = self.ask(f"set -e\n{script}", within)
        assert status == 0, f"{script}\n{said}\n{self.ask('journalctl --no-pager -n 50')[1]}"
        return said.strip()

    def journal(self, unit="skua"):
        return self.ask(f"journalctl --no-pager -o cat -u {unit}")[1]
