"""A name that was replaced is put back as it was: own, inherited, or replaced by somebody else since."""

import threading
from collections.abc import Callable

from stablelint.runtime.tracing.patches import in_own_thread, replace, replaced


class Base:
    def read(self) -> int:
        return 1

    @classmethod
    def make(cls) -> str:
        return cls.__name__


class Derived(Base):
    pass


def twice(original: Callable[[object], int]) -> Callable[[object], int]:
    return lambda self: 2 * original(self)


def test_an_own_name_and_an_inherited_one_are_put_back() -> None:
    for kind in (Base, Derived):
        before = dict(vars(kind))
        with replaced(kind, "read", twice):
            assert kind().read() == 2
        assert dict(vars(kind)) == before


def test_a_class_method_stays_one() -> None:
    before = vars(Base)["make"]
    with replaced(Base, "make", lambda _: classmethod(lambda cls: f"another {cls.__name__}")):
        assert Derived.make() == "another Derived"
    assert vars(Base)["make"] is before


def test_what_somebody_else_has_put_there_meanwhile_stays() -> None:
    class Holder(Base):
        pass

    undo = replace(Holder, "read", twice)
    inner = Holder.read
    setattr(Holder, "read", lambda self: inner(self) + 1)  # noqa: B010
    undo()
    assert Holder().read() == 3


def test_other_threads_are_handed_on_to_what_stood_there() -> None:
    seen: list[int] = []
    with replaced(Base, "read", in_own_thread(lambda original, one: 10 * original(one))):
        thread = threading.Thread(target=lambda: seen.append(Base().read()))
        thread.start()
        thread.join()
        seen.append(Base().read())
    assert seen == [1, 10]
