"""Run MiniStack, the local AWS, as long as a `with` block lasts: IAM enforced, TLS, loopback only."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trustme

from tools.local_aws.environments import Environments
from tools.local_aws.processes import stop_group, tail
from tools.local_aws.run_folders import new_run_folder

HOST = "127.0.0.1"
REGION = "us-east-1"
ACCESS_KEY = "test"  # MiniStack takes this pair for the account's root user
SECRET_KEY = "test"  # noqa: S105
START_SECONDS = 30.0
POLL_SECONDS = 0.1
MEMORY = Path("/dev/shm")  # noqa: S108 - only a new folder in there is used
MEMORY_NEEDED = 2 * 2**30


class LocalAwsError(Exception):
    """The local AWS did not do what it was asked; the message says what to look at."""


@dataclass(frozen=True, slots=True)
class LocalAws:
    """
    A running MiniStack.

    Attributes:
        endpoint: The address that every AWS client uses.
        ca_bundle: The certificate authority that such a client trusts.
        pid: MiniStack's process; the functions' processes are its children.
        log: The file that MiniStack writes to.
    """

    endpoint: str
    ca_bundle: Path
    pid: int
    log: Path

    def environment(self) -> dict[str, str]:
        """Return what a program needs in its environment to use this AWS, and no other one."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_CA_BUNDLE": str(self.ca_bundle),
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": "/dev/null",  # a person's own profiles must not be met here
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "NO_PROXY": HOST,
            "no_proxy": HOST,
        }


@contextmanager
def running_ministack(environments: Environments, folder: Path) -> Iterator[LocalAws]:
    """
    Start MiniStack on a free port and stop it, with its functions' processes, at the end.

    It speaks TLS because the queues' policies refuse plain HTTP, and MiniStack holds its callers to them.

    Args:
        environments: Where it is installed.
        folder: Where it keeps its files; its log is `ministack.log` in there.

    Raises:
        LocalAwsError: It ended, or did not answer in time.
    """
    scratch = new_run_folder("idempotent-consumer-ministack", _scratch_parent(folder), keep=0)
    ca_bundle, certificate, key = _write_certificates(folder)
    log = folder / "ministack.log"
    with socket.socket() as listener, log.open("ab") as output:
        listener.bind((HOST, 0))  # handed over as it is, so that no other process can take the port
        port: int = listener.getsockname()[1]
        process = subprocess.Popen(  # noqa: S603 - the command is ours
            [
                str(environments.ministack / "bin" / "python"),
                *("-m", "hypercorn", "ministack.app:app", "--workers", "0", "--keep-alive", "75"),
                *("--graceful-timeout", "0"),
                *("--bind", f"fd://{listener.fileno()}"),
                *("--certfile", str(certificate), "--keyfile", str(key)),
            ],
            pass_fds=[listener.fileno()],
            cwd=folder,
            # This is all that it gets: its environment is also that of the functions.
            env={
                "HOME": str(scratch),
                "TMPDIR": str(scratch),
                "PATH": "/usr/bin:/bin",
                "AUTH": "true",
                "BIND_HOST": HOST,
                "GATEWAY_PORT": str(port),
                "USE_SSL": "1",
                "MINISTACK_SSL_CERT": str(certificate),
                "MINISTACK_SSL_KEY": str(key),
                "AWS_CA_BUNDLE": str(ca_bundle),
            },
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        aws = LocalAws(f"https://{HOST}:{port}", ca_bundle, process.pid, log)
        _wait_until_healthy(aws, process)
        yield aws
    finally:
        stop_group(process)
        shutil.rmtree(scratch, ignore_errors=True)  # each function's unpacked code and layer


def _scratch_parent(folder: Path) -> Path:
    # MiniStack unpacks the layer's thousands of files for each process of each function. Memory is several times faster
    # at that than a disk, if there is enough of it and programs may be loaded from there.
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_NEEDED:
        is_executable = not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
        if is_executable and os.access(MEMORY, os.W_OK):
            return MEMORY
    return folder


def _write_certificates(folder: Path) -> tuple[Path, Path, Path]:
    authority = trustme.CA()
    issued = authority.issue_cert(HOST, "localhost")
    ca_bundle, certificate, key = (folder / name for name in ("ca.pem", "certificate.pem", "key.pem"))
    authority.cert_pem.write_to_path(str(ca_bundle))
    issued.cert_chain_pems[0].write_to_path(str(certificate))
    key.touch(mode=0o600)
    issued.private_key_pem.write_to_path(str(key))
    return ca_bundle, certificate, key


def _wait_until_healthy(aws: LocalAws, process: subprocess.Popen[bytes]) -> None:
    context = ssl.create_default_context(cafile=str(aws.ca_bundle))
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise LocalAwsError(f"MiniStack ended at its start; {aws.log}:\n{tail(aws.log)}")
        try:
            with opener.open(f"{aws.endpoint}/_ministack/health", timeout=2):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(POLL_SECONDS)
    raise LocalAwsError(f"MiniStack did not answer within {START_SECONDS:.0f} s; {aws.log}:\n{tail(aws.log)}")
