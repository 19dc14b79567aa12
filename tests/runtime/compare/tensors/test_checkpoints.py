"""Files with tensors are read without running what they bring."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from stablelint.runtime.compare.tensors.checkpoints import UnreadableError, read, without_wrappers  # noqa: E402

TENSORS = {"w": torch.arange(6.0).view(2, 3), "b": torch.ones(2)}


def saved(folder: Path, kind: str) -> Path:
    if kind == "npz":
        path = folder / "a.npz"
        numpy.savez(path, **{name: one.numpy() for name, one in TENSORS.items()})
    elif kind == "safetensors":
        from safetensors.torch import save_file

        path = folder / "a.safetensors"
        save_file(TENSORS, path)
    else:
        path = folder / "a.pt"
        torch.save(TENSORS, path, _use_new_zipfile_serialization=kind == "pt")
    return path


@pytest.mark.parametrize("kind", ["pt", "old pt", "safetensors", "npz"])
def test_every_format_gives_the_same_tensors(tmp_path: Path, kind: str) -> None:
    found = read(saved(tmp_path, kind))
    assert found.keys() == TENSORS.keys()
    assert all(torch.equal(found[name], TENSORS[name]) for name in TENSORS)


def test_nested_checkpoints_have_dotted_names(tmp_path: Path) -> None:
    torch.save({"model": TENSORS, "optimizer": {"groups": [{"lr": 0.1}]}}, tmp_path / "a.pt")
    assert {"model.w", "model.b", "optimizer.groups[0].lr"} == read(tmp_path / "a.pt").keys()


class Harm:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('executed')",)


def test_code_in_a_file_is_refused_and_not_run(tmp_path: Path) -> None:
    torch.save({"w": TENSORS["w"], "x": Harm()}, tmp_path / "a.pt")
    with pytest.raises(UnreadableError, match="safely") as caught:
        read(tmp_path / "a.pt")
    assert "state_dict" in (caught.value.hint or "")


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04 cut"])
def test_damaged_files_are_one_message(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.pt"
    path.write_bytes(content)
    with pytest.raises(UnreadableError, match=r"cannot read .*a\.pt"):
        read(path)


def test_the_prefix_of_a_wrapper_is_left_out() -> None:
    first, second, note = without_wrappers({"module.w": 1, "module.b": 2}, {"w": 1, "b": 2})
    assert first == second
    assert "module." in (note or "")
