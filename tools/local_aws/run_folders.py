"""Folders for what each run writes; those of runs long ended are removed, also where a run was killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path


def new_run_folder(label: str, parent: Path, *, keep: int) -> Path:
    """
    Make a folder that no other run uses.

    Args:
        label: Begins the folder's name; this process's id and some letters end it.
        parent: Where all folders with this label are.
        keep: How many of those whose process has ended are kept, the latest.
    """
    parent.mkdir(parents=True, exist_ok=True)
    ended = [run for run in parent.glob(f"{label}-*") if not _is_running(_process_id(run, label))]
    ended.sort(key=lambda run: run.stat().st_mtime)
    for old in ended[: max(0, len(ended) - keep)]:
        shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{label}-{os.getpid()}-", dir=parent))


def _process_id(run: Path, label: str) -> int:
    return int(run.name.removeprefix(f"{label}-").split("-")[0])


def _is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
