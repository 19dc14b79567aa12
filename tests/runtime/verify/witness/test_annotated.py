"""Kinds of argument that annotations allow."""

from collections.abc import Iterator

import pytest

from stablelint.runtime.verify.witness.uses import by_annotation

_TEXTS = {"tensor": "torch.rand(2, 4)", "int": "4", "str": "'mean'", "dict": "{}"}


def objects(text: str) -> Iterator[str]:
    yield from ["Scale(4)"] if text == "Scale" else []


@pytest.mark.parametrize(
    ("annotation", "kinds"),
    [
        ("", []),
        ("torch.Tensor | None", ["tensor"]),
        ("Optional['torch.Tensor']", ["tensor"]),
        ("Union[float, torch.Tensor]", ["float", "tensor"]),
        ("Float[Tensor, 'b c']", ["tensor"]),
        ("torch.BoolTensor", ["mask"]),
        ("nn.Module", ["callable"]),
        ("Callable[[Tensor], Tensor]", ["callable"]),
        ("Literal['sum', 'mean']", ["='sum'", "='mean'"]),
        ("list[Tensor]", ["several"]),
        ("tuple[Tensor, ...]", ["several"]),
        ("Tuple[Tensor, int, int]", ["=(torch.rand(2, 4), 4, 4,)"]),
        ("Sequence[Tuple[int]]", ["=[(4, 4,), (4, 4,)]"]),
        ("list[Scale]", ["=[Scale(4), Scale(4)]"]),
        ("Scale", ["=Scale(4)"]),
        ("list[Unknown]", ["list"]),
        ("Dict[str, Tensor]", ["dict"]),
        ("not an annotation", []),
    ],
)
def test_kinds_follow_an_annotation(annotation: str, kinds: list[str]) -> None:
    assert list(by_annotation(annotation, _TEXTS.__getitem__, objects)) == kinds
