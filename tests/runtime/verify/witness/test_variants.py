"""What real data bring, made of arguments that a call takes."""

from stablelint.runtime.verify.witness.arguments import Argument, written
from stablelint.runtime.verify.witness.variants import variants


def test_a_whole_number_is_tried_with_none_and_one() -> None:
    texts = [written(each) for each in variants((Argument("x", "tensor", (2,)), Argument("n", "int")))]
    assert texts[:2] == ["torch.rand(2), 0", "torch.rand(2), 1"]
    assert "torch.zeros(2), 4" in texts
