# SPDX-License-Identifier: Apache-2.0
"""Slurm on this machine alone: a controller and as many node daemons as asked for, all in one folder, on loopback.

Needs root (munge checks who owns its files) and Debian's packages (PACKAGES). Node daemons believe that they have as many
CPUs as devices are wanted; a job's step really runs, as `sleep`. No accounting daemon: what happened is read from the
controller's own file of completed jobs, whose times are whole seconds.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
from datetime import datetime

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "munged")

CONF = """
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge.sock
CredType=cred/munge
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool-%n
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd-%n.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,bf_continue,bf_max_job_test=5000,sched_interval=1,sched_min_interval=50000,default_queue_depth=5000,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PriorityType=priority/basic
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc={home}/completed
MinJobAge=300
MaxJobCount=100000
SlurmdParameters=config_overrides
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs={devices} Boards=1 SocketsPerBoard=1 CoresPerSocket={devices} ThreadsPerCore=1 RealMemory=64000 State=UNKNOWN
PartitionName=main Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def missing() -> list[str]:
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    return [program for program in PROGRAMS if not shutil.which(program)]


def install(say) -> None:
    """Installs Debian's packages; says before which they are and how large."""
    words = ["apt-get", "install", "--no-install-recommends", *PACKAGES]
    asked = subprocess.run([*words, "--assume-no"], capture_output=True, text=True)
    size = re.findall(r"(?:Need to get|After this operation).*", asked.stdout)
    if not size:
        raise RuntimeError("Slurm is not installed, and apt-get does not know it: " + (asked.stdout + asked.stderr)[-400:])
    say(f"installs {', '.join(PACKAGES)} by apt-get: " + " ".join(size))
    # Their services are not wanted: the bench starts its own.
    subprocess.run([*words, "--assume-yes"], check=True, capture_output=True, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"})


def cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def free_ports(count: int) -> int:
    """The first of so many neighbours that nobody has."""
    for first in range(20_000, 60_000, count + 1):
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    taken = stack.enter_context(socket.socket())
                    taken.bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
    raise RuntimeError("no free ports")


class Slurm:
    def __init__(self, home: pathlib.Path, nodes: int, devices: int):
        self.home, self.nodes, self.devices = home, nodes, devices
        self.started: list[subprocess.Popen] = []
        self.controller = 0

    def __enter__(self) -> "Slurm":
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def run(self, *words: str) -> str:
        ran = subprocess.run(words, capture_output=True, text=True, timeout=60, env=self.environment)
        if ran.returncode:
            raise RuntimeError(f"{' '.join(words)}: {ran.stderr.strip()}")
        return ran.stdout

    def spawn(self, *words: str) -> int:
        log = open(self.home / f"{pathlib.Path(words[0]).name}.out", "ab")
        process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment, start_new_session=True)
        log.close()
        self.started.append(process)
        return process.pid

    def start(self) -> None:
        (self.home / "state").mkdir(parents=True)
        self.home.chmod(0o755)
        (self.home / "munge.key").write_bytes(os.urandom(128))
        (self.home / "munge.key").chmod(0o600)
        port = free_ports(self.nodes + 1)
        self.environment = os.environ | {"SLURM_CONF": str(self.home / "slurm.conf")}
        (self.home / "slurm.conf").write_text(CONF.format(home=self.home, host=socket.gethostname(), port=port, first=port + 1, last=port + self.nodes,
                                                          nodes=self.nodes, devices=self.devices))
        at = lambda name: f"{self.home}/{name}"  # noqa: E731
        self.spawn("munged", "--foreground", "--force", f"--socket={at('munge.sock')}", f"--key-file={at('munge.key')}", f"--pid-file={at('munged.pid')}",
                   f"--log-file={at('munged.log')}", f"--seed-file={at('munged.seed')}", "--num-threads=4")
        self.wait("munged listens", lambda: (self.home / "munge.sock").exists())
        self.controller = self.spawn("slurmctld", "-D")
        for n in range(1, self.nodes + 1):
            (self.home / f"spool-n{n}").mkdir()
            self.spawn("slurmd", "-D", "-N", f"n{n}")
        self.wait("all nodes are idle", lambda: self.run("sinfo", "-h", "-N", "-o", "%T").split().count("idle") == self.nodes)

    def wait(self, what: str, done, timeout: float = 60) -> None:
        deadline = time.monotonic() + timeout
        while True:
            with contextlib.suppress(RuntimeError):
                if done():
                    return
            if any(process.poll() is not None for process in self.started):
                raise RuntimeError(f"{what}: a daemon ended: " + "".join(log.read_text()[-300:] for log in self.home.glob("*.out")))
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what}: not within {timeout} s")
            time.sleep(0.1)

    def submit(self, devices: int, seconds: int, count: int) -> None:
        self.run("sbatch", "--parsable", f"--array=0-{count - 1}", "-N1", "-n1", f"-c{devices}", "--time=2", "--output=/dev/null", "--chdir=/",
                 f"--wrap=exec sleep {seconds}")

    def cpu(self) -> float:
        """Seconds of the controller. Steps of the node daemons leave them, and are not counted."""
        return cpu_seconds(self.controller)

    def completed(self) -> list[dict]:
        """Of each job that is over: submitted, started, ended (seconds), devices, state."""
        path = self.home / "completed"
        rows = []
        for line in path.read_text().splitlines() if path.exists() else []:
            told = dict(word.split("=", 1) for word in line.split() if "=" in word)
            when = lambda name: datetime.fromisoformat(told[name]).timestamp()  # noqa: E731,B023
            rows.append({"submitted": when("SubmitTime"), "started": when("StartTime"), "ended": when("EndTime"),
                         "devices": int(told["ProcCnt"]), "state": told["JobState"], "node": told["NodeList"]})
        return rows

    def __exit__(self, *_) -> None:
        for process in reversed(self.started):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in reversed(self.started):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
