"""How many were selected or kept: nothing is believed of a count where the text shows how it comes to 0."""

import pytest

from tests.analysis.support import assumed, open_, proved

HEAD = "def f(x: torch.Tensor, y: torch.Tensor, n: int):\n"
KEPT = "    kept = []\n    for row in x:\n        if row.sum() > n:\n            kept.append(row)\n"
ROWS = "    rows = x[y[:, 0] > 0]\n"
TABLE = "    found = {}\n    for row in x:\n        if row.sum() > n:\n            found[row] = 1\n"
TRIED = (
    "    kept = []\n    for row in x:\n        try:\n            kept.append(row.item() // n)\n"
    "        except ZeroDivisionError:\n            pass\n"
)


@pytest.mark.parametrize(
    "body",
    [
        f"{KEPT}    return 1 / len(kept)\n",
        f"{KEPT.replace('> n:', '< n:').replace('            kept', '            continue' + chr(10) + '        kept')}"
        "    return 1 / len(kept)\n",
        f"{TRIED}    return 1 / len(kept)\n",
        f"{TABLE}    return 1 / len(found)\n",
        "    kept = []\n    if n > 1:\n        kept.append(x)\n    return 1 / len(kept)\n",
        f"{ROWS}    return 1 / len(rows)\n",
        f"{ROWS}    return 1 / rows.shape[0]\n",
        f"{ROWS}    count, width = rows.shape\n    return 1 / count\n",
        "    return 1 / x[:, y[0] > 0].shape[1]\n",
        "    return 1 / len(torch.cat([row[row > 1] for row in x]))\n",
        "    return 1 / len(torch.where(y > 0)[0])\n",
        "    places = (y > 0).nonzero(as_tuple=True)[0]\n    return 1 / places.numel()\n",
        "    down, across = torch.where(y > 0)\n    return 1 / len(across)\n",
    ],
)
def test_a_count_that_can_be_0_is_told(body: str) -> None:
    assert [rule for _, rule in open_(HEAD + body)] == ["SL102"]


@pytest.mark.parametrize(
    "body",
    [
        "    kept = []\n    for row in x:\n        kept.append(row)\n    return 1 / len(kept)\n",
        "    kept = []\n    for row in x:\n        for z in row:\n            kept.append(z)\n    return 1 / len(kept)\n",
        f"{KEPT}        else:\n            kept.append(-row)\n    return 1 / len(kept)\n",
        f"{KEPT.replace('[]', '[x]')}    return 1 / len(kept)\n",
        f"{ROWS}    return 1 / rows.shape[1]\n",
        f"{ROWS}    count, width = rows.shape\n    return 1 / width\n",
        "    return 1 / len(x[:, y[0] > 0])\n",
    ],
)
def test_a_count_of_what_no_test_picked_is_assumed(body: str) -> None:
    assert [rule for _, rule in assumed(HEAD + body)] == ["SL102"]


@pytest.mark.parametrize(
    "body",
    [
        f"{KEPT}    if len(kept) == 0:\n        return x\n    return 1 / len(kept)\n",
        f"{KEPT}    return x / len(kept) if kept else x\n",
        f"{ROWS}    if len(rows) > 0:\n        return 1 / rows.shape[0]\n",
        "    kept = y[:, 0] > 0\n    if kept.any():\n        rows = x[kept]\n        return 1 / len(rows)\n",
    ],
)
def test_a_count_that_was_tested_is_proved(body: str) -> None:
    assert [rule for _, rule in proved(HEAD + body)] == ["SL102"]


PLACES = "    places = torch.where(y[:, 0] > 0)[0]\n"
COLUMNS = "    rows = x[:, y[0] > 0]\n"


@pytest.mark.parametrize(
    "body",
    [
        f"{PLACES}    rows = x[places, :]\n    if rows.shape[0] == 0:\n        return x\n",
        f"{COLUMNS}    if rows.shape[1] == 0:\n        return x\n",
        f"{COLUMNS}    if rows.size(1) == 0:\n        return x\n",
        f"{COLUMNS}    if rows.numel() == 0 or 0 in rows.shape:\n        return x\n",
        f"{PLACES}    rows = x[places, :]\n    if len(rows) == 0:\n        return x\n    rows = x[places]\n",
    ],
)
def test_the_length_along_what_was_selected_shows_an_element(body: str) -> None:
    assert open_(f"{HEAD}{body}    return rows.mean()\n") == []


@pytest.mark.parametrize(
    "body",
    [
        f"{COLUMNS}    if rows.shape[0] == 0:\n        return x\n",
        f"{COLUMNS}    if len(rows) == 0:\n        return x\n",
        f"{COLUMNS}    if rows.shape[n] == 0:\n        return x\n",
        f"{COLUMNS}    rows = rows * 2\n    if rows.size(0) == 0:\n        return x\n",
        f"{ROWS}    count, width = rows.shape\n    if width == 0:\n        return x\n",
        f"{PLACES}    rows = x[places, :]\n    if rows.shape[1] == 0:\n        return x\n",
    ],
)
def test_the_length_along_another_dimension_shows_none(body: str) -> None:
    assert [rule for _, rule in open_(f"{HEAD}{body}    return rows.mean()\n")] == ["SL502"]


@pytest.mark.parametrize(
    "test",
    [
        "m.sum() == 0",
        "m.sum().item() == 0",
        "int(m.sum()) == 0",
        "float(m.sum()) == 0",
        "not int(m.sum())",
        "not m.sum().item()",
        "not m.sum()",
        "int(m.sum()) < 1",
        "m.float().mean() == 0",
    ],
)
def test_a_total_of_a_mask_shows_an_element_in_any_spelling(test: str) -> None:
    code = f"def f(x, m):\n    if {test}:\n        return x.sum()\n    return x[m].mean()\n"
    assert open_(code) == []
    told = open_(code.replace("x[m].mean()", "x[~m].mean()"))
    assert [rule for _, rule in told] == ["SL502"]


@pytest.mark.parametrize(
    ("test", "shows"),
    [("m.sum() != 0", True), ("m.float().mean() > 0", True), ("m.float().mean() != 0", False)],
)
def test_the_mean_of_nothing_is_not_0_and_shows_no_element(test: str, shows: bool) -> None:
    code = f"def f(x, y, k):\n    m = y[k] > 0\n    if {test}:\n        return x[k][m].mean()\n"
    assert ((4, "SL502") in open_(code)) is not shows
