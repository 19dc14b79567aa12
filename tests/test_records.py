"""Data classes do what those of the standard library do."""

import copy
import dataclasses
import pickle
from dataclasses import field, fields, replace

import pytest

from stablelint.records import dataclass


def defined(by):
    @by(frozen=True, slots=True)
    class Point:
        x: int
        names: list[str] = field(default_factory=list)
        hidden: str = field(default="h", repr=False)

        @property
        def double(self) -> int:
            return 2 * self.x

    @by(frozen=True, slots=True)
    class Named(Point):
        name: str = "n"

    @by(slots=True)
    class Open:
        y: float

    @by(eq=False)
    class Apart:
        z: object = None

        def __post_init__(self) -> None:
            self.z = self.z or "made"

    return Point, Named, Open, Apart


OURS, THEIRS = defined(dataclass), defined(dataclasses.dataclass)


@dataclass(frozen=True, slots=True)
class Kept:
    x: int
    y: tuple[int, ...] = ()


@pytest.mark.parametrize("index", range(4), ids=["frozen", "inherited", "open", "apart"])
def test_they_show_and_compare_as_the_standard_ones_do(index):
    ours, theirs = OURS[index], THEIRS[index]
    for given in ((1,), (2,)):
        one, other = ours(*given), theirs(*given)
        assert repr(one) == repr(other)
        assert (one == ours(*given)) == (other == theirs(*given))
        assert (one == ours(3), one == given) == (other == theirs(3), other == given)
        assert [f.name for f in fields(one)] == [f.name for f in fields(other)]
        assert hasattr(one, "__dict__") == hasattr(other, "__dict__")
    assert ours.__match_args__ == theirs.__match_args__


def test_what_is_left_out_is_made_anew():
    point = OURS[0]
    assert point(1).names == []
    assert point(1).names is not point(1).names
    assert OURS[3]().z == "made"


def test_a_frozen_one_is_told_apart_by_its_fields():
    assert {Kept(1): "a"}[Kept(1)] == "a"
    assert len({Kept(1), Kept(1, (2,)), Kept(2)}) == 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(OURS[2](1.0))
    assert OURS[3]() != OURS[3]()


def test_it_is_replaced_copied_and_sent():
    kept = Kept(1, (2, 3))
    assert replace(kept, x=4) == Kept(4, (2, 3))
    assert copy.deepcopy(kept) == kept
    assert pickle.loads(pickle.dumps(kept)) == kept


def test_what_is_missing_or_too_much_is_refused():
    with pytest.raises(TypeError, match=r"Kept\.__init__\(\) missing 1 required positional argument: 'x'"):
        Kept()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Kept(1, z=2)
