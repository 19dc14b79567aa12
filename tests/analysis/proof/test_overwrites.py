"""Elements that would go wrong are overwritten: before the operation, behind it, or on both sides."""

import pytest

from tests.analysis.support import open_

HEAD = "import numpy as np\ndef f(x: torch.Tensor, s: torch.Tensor):\n    s = s.relu()\n"

GUARDED = {
    "isnan overwrite": (
        "    with torch.no_grad():\n        p = s * x / s\n        p[torch.isnan(p)] = 0\n        return p\n"
    ),
    "what differs from itself": (
        "    with torch.no_grad():\n        p = s * x / s\n        p[p != p] = 0\n        return p\n"
    ),
    "not finite": (
        "    with torch.no_grad():\n        p = x / s\n        p[~torch.isfinite(p)] = 0\n        return p\n"
    ),
    "isinf log": (
        "    with torch.no_grad():\n        p = torch.log(s)\n"
        "        p[torch.isinf(p)] = 0\n        return p\n"
    ),
    "what is -inf": (
        "    with torch.no_grad():\n        p = torch.log(s)\n"
        "        p[p == -float('inf')] = 0\n        return p\n"
    ),
    "an infinite power": (
        "    with torch.no_grad():\n        d = s.pow(-0.5)\n"
        "        d[d == float('inf')] = 0\n        return d\n"
    ),
    "an infinite power filled in place": (
        "    with torch.no_grad():\n        d = s.pow(-0.5)\n"
        "        d.masked_fill_(d == float('inf'), 0)\n        return d\n"
    ),
    "an infinite inverse": (
        "    with torch.no_grad():\n        d = 1.0 / s\n        d[torch.isinf(d)] = 0.0\n        return d\n"
    ),
    "where it is NaN": (
        "    with torch.no_grad():\n"
        "        p = s * x / s\n        return torch.where(torch.isnan(p), torch.zeros_like(p), p)\n"
    ),
    "where it equals itself": (
        "    with torch.no_grad():\n"
        "        p = s * x / s\n        return torch.where(p == p, p, torch.zeros_like(p))\n"
    ),
    "a divisor of 0": "    s[s == 0] = 1\n    return x / s\n",
    "an operand below": "    s[s <= 0] = 1e-3\n    return torch.log(s)\n",
    "a named test": "    empty = s == 0\n    s[empty] = 1\n    return x / s\n",
    "a named test turned round": "    ok = s > 0\n    s[~ok] = 1\n    return x / s\n",
    "an index": "    s[(s == 0).nonzero()] = 1\n    return x / s\n",
    "where as an index": "    s[torch.where(s == 0)] = 1\n    return x / s\n",
    "an index of where": "    idx = torch.where(s == 0)[0]\n    s[idx] = 1\n    return x / s\n",
    "masked_fill_": "    s.masked_fill_(s == 0, 1)\n    return x / s\n",
    "a part": "    out = torch.zeros_like(x)\n    ok = s > 0\n    out[ok] = x[ok] / s[ok]\n    return out\n",
    "a part by index": (
        "    out = torch.zeros_like(x)\n    ok = torch.where(s > 0)[0]\n"
        "    out[ok] = x[ok] / s[ok]\n    return out\n"
    ),
    "double where": (
        "    ok = s > 0\n"
        "    safe = torch.where(ok, s, torch.ones_like(s))\n"
        "    return torch.where(ok, torch.log(safe), torch.zeros_like(s))\n"
    ),
    "double where scalar": "    safe = torch.where(s > 0, s, 1.0)\n    return torch.where(s > 0, x / safe, 0.0)\n",
    "double where neg": "    safe = torch.where(s == 0, 1.0, s)\n    return torch.where(s == 0, 0.0, x / safe)\n",
    "double where gt eps": (
        "    safe = torch.where(s > 1e-6, s, torch.ones_like(s))\n"
        "    return torch.where(s > 1e-6, 1 / safe, 0)\n"
    ),
    "double abs": (
        "    t = x - 1\n"
        "    safe = torch.where(t.abs() < 1e-6, torch.ones_like(t), t)\n"
        "    return torch.where(t.abs() < 1e-6, torch.zeros_like(t), x / safe)\n"
    ),
    "mask arithmetic": "    m = (s > 0).float()\n    return x / (s * m + (1 - m))\n",
    "mask arithmetic 2": "    m = s == 0\n    return x / (s + m.float())\n",
    "mask arithmetic 3": "    return x / (s + (s == 0).to(s.dtype))\n",
    "mask arithmetic 4": "    return x / (s + torch.eq(s, 0) * 1e-6)\n",
    "mask arithmetic 5": "    s += (s == 0) * 1.0\n    return x / s\n",
    "out": "    y = torch.empty_like(x)\n    torch.clamp(s, min=1e-3, out=y)\n    return torch.log(y)\n",
    "out add": "    y = torch.empty_like(x)\n    torch.add(s, 1e-3, out=y)\n    return torch.log(y)\n",
    "nan_to_num no grad": "    with torch.no_grad():\n        return torch.nan_to_num(x / s)\n",
    "copy_": "    s.copy_(x.abs() + 1)\n    return torch.log(s)\n",
    "a copy of an array": (
        "    y = np.abs(x) + 2\n    z = np.array(y)\n    z[0] = 0\n    return np.log(y)\n"
    ),
    "all of it": "    s[:] = x.abs() + 1\n    return torch.log(s)\n",
    "all of it with a number": "    s[...] = 1\n    return torch.log(s)\n",
    "index_fill of what is positive": "    return torch.log((s + 1).index_fill(0, x.argmax(), 1.0))\n",
    "masked_fill out of place": "    return s.masked_fill(s == 0, 1).log()\n",
    "detach where": "    p = (s * x / s).detach()\n    p = torch.where(torch.isnan(p), 0.0, p)\n    return p\n",
    "the data of a result": "    p = s * x / s\n    p.data[torch.isnan(p)] = 0\n    return p.detach()\n",
}

UNGUARDED = {
    "other elements": ("    s[x == 0] = 1\n    return x / s\n", "SL102"),
    "the wrong value": ("    s[s == 0] = 0\n    return x / s\n", "SL102"),
    "a copy of what can be 0": ("    y = s + 1\n    y.copy_(s)\n    return torch.log(y)\n", "SL101"),
    "a part": ("    s[:1] = 1\n    return torch.log(s)\n", "SL101"),
    "the wrong side": ("    s[s > 0] = 1\n    return x / s\n", "SL102"),
    "one where, with a gradient": ("    return torch.where(s == 0, 0.0, x / s)\n", "SL503"),
    "behind it, with a gradient": ("    p = s * x / s\n    p[p != p] = 0\n    return p\n", "SL503"),
    "an output argument": (
        "    y = torch.empty_like(x)\n    torch.relu(x, out=y)\n    return torch.log(y)\n",
        "SL101",
    ),
    "an array that shares its elements": (
        "    y = s + 1\n    y.numpy()[0] = 0\n    return torch.log(y)\n",
        "SL101",
    ),
    "an array of another name": (
        "    y = np.exp(x) + 1\n    z = np.asarray(y)\n    z -= 1\n    return np.log(y)\n",
        "SL101",
    ),
    "an array that is filled": ("    y = np.exp(x) + 1\n    y.fill(0)\n    return np.log(y)\n", "SL101"),
    "an array that a function fills": (
        "    y = np.exp(x) + 1\n    np.copyto(y, x)\n    return np.log(y)\n",
        "SL101",
    ),
    "a blend with 0": ("    m = (s > 0).float()\n    return x / (s * m + s * (1 - m))\n", "SL102"),
    "a blend by two tests": ("    m = s > 0\n    return x / (s * m + (1 - (x > 0).float()))\n", "SL102"),
}


@pytest.mark.parametrize("body", GUARDED.values(), ids=GUARDED.keys())
def test_an_overwritten_element_goes_wrong_no_more(body: str) -> None:
    assert open_(HEAD + body) == []


@pytest.mark.parametrize(("body", "code"), UNGUARDED.values(), ids=UNGUARDED.keys())
def test_what_is_not_overwritten_does(body: str, code: str) -> None:
    assert code in {found for _, found in open_(HEAD + body)}
