"""Captured cgroup trees of real kernels, unpacked into roots that the exporter can be pointed at."""

import shutil
import tarfile
from pathlib import Path

HERE = Path(__file__).parent
CAPTURES = HERE / "captures"
NAMES = sorted(path.name.removesuffix(".tar.gz") for path in CAPTURES.glob("*.tar.gz"))


def unpack(name: str, target: Path) -> tuple[Path, Path]:
    """(cgroup root, proc root) of a capture.

    v2 captures keep the root's own files beside the tree, for a real root has them together.
    """
    with tarfile.open(CAPTURES / f"{name}.tar.gz") as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(target, filter="data")
        else:  # Debian 12's Python 3.11.2 has no filters yet; the captures are our own
            archive.extractall(target)  # noqa: S202
    proc = target / "proc"
    (proc / "pressure").mkdir(exist_ok=True)
    if (proc / "pressure_memory").exists():
        shutil.copy(proc / "pressure_memory", proc / "pressure" / "memory")
    if (target / "memory").is_dir():
        return target, proc
    for file in (target / "root").iterdir():
        shutil.copy(file, target / "tree" / file.name)
    return target / "tree", proc


def text(page: list[bytes]) -> str:
    """A page in one piece."""
    return b"".join(page).decode()
