"""What is remembered of a file's nodes goes with the file."""

import ast
import gc

from stablelint.syntax.remembered import forget, remembered
from tests.analysis.support import fixes

PROGRAM = "def f(x, e):\n    y = x.sum()\n    return torch.log(y) / e\n"


def test_a_question_is_answered_once_until_it_is_forgotten() -> None:
    asked: list[int] = []

    @remembered
    def answer(number: int) -> int:
        asked.append(number)
        return number + 1

    assert [answer(1), answer(1), answer(2)] == [2, 2, 3]
    assert asked == [1, 2]
    forget()
    assert answer(1) == 2
    assert asked == [1, 2, 1]


def test_no_tree_of_a_file_is_held_once_it_is_done() -> None:
    def trees() -> int:
        forget()
        gc.collect()
        return sum(type(one) is ast.Module for one in gc.get_objects())

    fixes(PROGRAM)
    before = trees()
    for number in range(3):
        fixes(f"{PROGRAM}    # {number}\n")
    assert trees() <= before
