"""Files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptopt.writing import write_whole


def test_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    """As if it had been opened for writing."""
    usual = tmp_path / "usual"
    usual.touch()
    write_whole(tmp_path / "new", b"x")
    assert (tmp_path / "new").read_bytes() == b"x"
    assert (tmp_path / "new").stat().st_mode == usual.stat().st_mode


def test_existing_file_keeps_its_mode_and_links(tmp_path: Path) -> None:
    """What a link points to is written, the link stays."""
    real = tmp_path / "real"
    real.write_bytes(b"old")
    real.chmod(0o640)
    (tmp_path / "link").symlink_to(real)
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert real.read_bytes() == b"new"
    assert real.stat().st_mode & 0o777 == 0o640


def test_failure_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No half a file, and no temporary one."""
    (tmp_path / "file").write_bytes(b"old")

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="No space"):
        write_whole(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_pipes_are_written_to(tmp_path: Path) -> None:
    """A pipe is not replaced by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, b"through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
