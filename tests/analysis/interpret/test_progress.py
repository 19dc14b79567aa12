"""A progress bar yields what it is given."""

import pytest

from tests.analysis.support import discharged_by, unguarded

IMPORTS = "import torch\nfrom tqdm import tqdm, trange\nfrom tqdm.auto import tqdm as bar\nfrom rich.progress import track\n"


@pytest.mark.parametrize(
    "loop",
    [
        "for i, x in tqdm(enumerate(loader)):",
        "for i, x in bar(enumerate(loader), total=3):",
        "for i, x in track(enumerate(loader), description='x'):",
        "for i in trange(n):",
        "for i in tqdm(range(n), desc='x'):",
    ],
)
def test_the_index_of_the_loop_is_not_negative(loop: str) -> None:
    assert "SL102" in discharged_by(
        f"def f(total, loader, n):\n    {loop}\n        print(total / (i + 1))\n", IMPORTS
    )


def test_a_bar_that_has_a_name() -> None:
    code = """
    def f(total, loader):
        with tqdm(enumerate(loader)) as pbar:
            for i, x in pbar:
                print(total / (i + 1))
                pbar.set_postfix(x=x)
    """
    assert not unguarded(code, IMPORTS)


def test_what_is_called_like_one_is_none() -> None:
    code = "def f(total, tqdm):\n    for i in tqdm(range(3)):\n        print(total / (i + 1))\n"
    assert unguarded(code, "import torch\n") == [(3, "SL102")]
