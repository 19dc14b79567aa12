from dataclasses import replace

from stablelint.diagnostic import Binding, Proposal
from tests.codemod.differential.tried import fixed
from tests.codemod.support import HEAD, body, proposal, rewritten, span_of, withheld

LOG = "torch.log_softmax($z, dim=-1)"


def unnamed(source: str, place: str, template: str, origin: str, occurrence: int = 0) -> Proposal:
    made = proposal(source, place, template)
    return replace(made, bindings={"z": Binding(None, origin=span_of(source, origin, occurrence))})


def test_an_operand_that_is_computed_inside_gets_a_name_and_what_nothing_reads_goes() -> None:
    source = f"{HEAD}def f(net, x):\n    p = torch.softmax(net(x), -1)\n    return p.log()\n"
    fixed = rewritten(source, unnamed(source, "p.log()", LOG, "net(x)"))
    assert body(fixed) == (
        "def f(net, x):\n    logits = net(x)\n    return torch.log_softmax(logits, dim=-1)\n"
    )


def test_what_others_read_stays_and_takes_the_name() -> None:
    source = f"{HEAD}def f(net, x):\n    p = torch.softmax(net(x), -1)\n    return p.log() * p\n"
    fixed = rewritten(source, unnamed(source, "p.log()", LOG, "net(x)"))
    assert "    logits = net(x)\n    p = torch.softmax(logits, -1)\n" in fixed
    assert "torch.log_softmax(logits, dim=-1) * p" in fixed


def test_a_statement_that_gives_its_operand_s_name_anew_reads_it_by_that_name() -> None:
    source = f"{HEAD}def f(q, k):\n    a = q @ k\n    a = a.softmax(-1)\n    a = a.relu()\n    return a\n"
    fixed = rewritten(source, unnamed(source, "a.softmax(-1)", "torch.softmax($z, -1).to($z.dtype)", "q @ k"))
    assert body(fixed) == body(source).replace("a.softmax(-1)", "torch.softmax(a, -1).to(a.dtype)")


def test_a_name_that_two_paths_give_is_read_where_its_statement_gives_it_anew() -> None:
    given = "    a = q @ k\n    if m is not None:\n        a = a + m\n    a = a.softmax(-1)\n"
    source = f"{HEAD}def f(q, k, m):\n{given}    return a\n"
    template = "torch.softmax($z, -1).to($z.dtype)"
    reader = source.count("a", 0, source.index("a.softmax"))
    fixed = rewritten(source, unnamed(source, "a.softmax(-1)", template, "a", reader))
    assert body(fixed) == body(source).replace("a.softmax(-1)", "torch.softmax(a, -1).to(a.dtype)")


def test_a_name_that_was_given_another_value_keeps_its_own_again() -> None:
    source = f"{HEAD}def f(x):\n    x = x.exp()  # of logits\n    x = x / x.sum()\n    return x\n"
    fixed = rewritten(
        source,
        unnamed(
            source,
            "x / x.sum()",
            "torch.softmax($z, dim=0)",
            "x",
            source.count("x", 0, source.index("x.exp")),
        ),
    )
    assert body(fixed) == "def f(x):\n    x = torch.softmax(x, dim=0)\n    return x\n"


def test_a_name_whose_other_value_is_read_later_stays_as_it_is() -> None:
    source = f"{HEAD}def f(x):\n    x = x.exp()\n    y = x / x.sum()\n    return x, y\n"
    made = unnamed(
        source, "x / x.sum()", "torch.softmax($z, dim=0)", "x", source.count("x", 0, source.index("x.exp"))
    )
    assert withheld(source, made) == "`x` has another value at this place"


def test_a_name_that_is_given_anew_at_once_leaves_its_first_value_to_another() -> None:
    source = f"{HEAD}def f(net, x):\n    z = net(x)\n    z = torch.sigmoid(z)\n    return z, z.log()\n"
    fixed = rewritten(source, unnamed(source, "z.log()", "F.logsigmoid($z)", "net(x)"))
    assert body(fixed) == (
        "def f(net, x):\n    logits = net(x)\n    z = torch.sigmoid(logits)\n    return z, F.logsigmoid(logits)\n"
    )


def test_a_part_of_what_a_name_is_given_anew_gets_another_name_where_others_read_it() -> None:
    source = f"{HEAD}def f(x):\n    x = torch.sigmoid(x + 2)\n    y = x * 3\n    return y, x.log()\n"
    fixed = rewritten(source, unnamed(source, "x.log()", "F.logsigmoid($z)", "x + 2"))
    assert body(fixed) == (
        "def f(x):\n    logits = x + 2\n    x = torch.sigmoid(logits)\n    y = x * 3\n    return y, F.logsigmoid(logits)\n"
    )


def test_a_parameter_that_is_given_anew_keeps_its_value_under_another_name() -> None:
    source = f"{HEAD}def f(z):\n    z = torch.sigmoid(z)\n    return z, z.log()\n"
    occurrence = source.count("z", 0, source.index("(z)\n"))
    fixed = rewritten(source, unnamed(source, "z.log()", "F.logsigmoid($z)", "z", occurrence))
    assert body(fixed) == (
        "def f(z):\n    logits = z\n    z = torch.sigmoid(z)\n    return z, F.logsigmoid(logits)\n"
    )


def test_a_value_that_nothing_reads_before_its_name_is_given_anew_goes() -> None:
    source = f"{HEAD}def f(x):\n    w = torch.exp(x - 1)\n    w = w / w.sum()\n    return w\n"
    fixed = rewritten(source, unnamed(source, "w / w.sum()", "torch.softmax($z, dim=0)", "x - 1"))
    assert body(fixed) == (
        "def f(x):\n    log_w = x - 1\n    w = torch.softmax(log_w, dim=0)\n    return w\n"
    )


SHARE = "$x - torch.logsumexp($y, dim=-1)"


def test_two_operands_that_are_computed_inside_get_a_name_each() -> None:
    source = (
        f"{HEAD}def f(net, x, y):\n    near = torch.exp(x @ net)\n    far = torch.exp(y @ net).sum(-1)\n"
        "    return torch.log(near / far)\n"
    )
    made = proposal(source, "torch.log(near / far)", SHARE)
    bindings = {
        name: Binding(None, origin=span_of(source, text))
        for name, text in (("x", "x @ net"), ("y", "y @ net"))
    }
    assert body(rewritten(source, replace(made, bindings=bindings))) == (
        "def f(net, x, y):\n    log_near = x @ net\n    product = y @ net\n"
        "    return log_near - torch.logsumexp(product, dim=-1)\n"
    )


def test_what_only_goes_through_a_statement_that_goes_is_no_reader() -> None:
    source = (
        f"{HEAD}def f(net, x):\n    e = torch.exp(net(x))\n    own = torch.diag(e)\n"
        "    return torch.log(own / e.sum(-1))\n"
    )
    made = proposal(source, "torch.log(own / e.sum(-1))", "torch.diag($x) - torch.logsumexp($y, dim=-1)")
    one = Binding(None, origin=span_of(source, "net(x)"))
    fixed = rewritten(source, replace(made, bindings={"x": one, "y": one}))
    assert "torch.exp" not in fixed
    assert "own" not in fixed


def test_what_a_value_is_made_of_stays_when_the_value_gets_a_name_of_its_own() -> None:
    source = (
        f"{HEAD}def f(p, x):\n    d = torch.log(x)\n    total = torch.logsumexp(p + d, 0).exp()\n"
        "    return total - 1\n"
    )
    fixed = rewritten(source, unnamed(source, "total - 1", "torch.expm1($z)", "torch.logsumexp(p + d, 0)"))
    assert body(fixed) == (
        "def f(p, x):\n    d = torch.log(x)\n    log_total = torch.logsumexp(p + d, 0)\n    return torch.expm1(log_total)\n"
    )


def test_what_a_value_was_on_the_way_goes_with_its_reader() -> None:
    way = "        x = x.abs()\n        x = x + 1\n        x = x.log()\n"
    source = f"import torch\ndef f(self, x):\n    if self.log:\n{way}    return x\n"
    short = "        x = x.abs()\n        x = torch.log1p(x)\n"
    assert fixed(source)[0] == source.replace(way, short)


def test_a_name_stays_where_what_was_read_between_reads_the_same() -> None:
    way = "        w = z.squeeze(1)\n        t = w.max()\n        w = w.softmax(1)\n        w = w.log()\n"
    source = f"import torch\ndef f(x, s):\n    for z in x:\n{way}        s = s + w.sum() * t\n    return s\n"
    short = "        w = z.squeeze(1)\n        t = w.max()\n        w = torch.log_softmax(w, dim=1)\n"
    assert fixed(source)[0] == source.replace(way, short)


def test_a_name_that_the_next_turn_reads_gets_another_beside_it() -> None:
    way = "        t = w.max()\n        w = z.squeeze(1)\n        w = w.softmax(1)\n        y = w.log()\n"
    source = (
        f"import torch\ndef f(x, s, w):\n    for z in x:\n{way}        s = s + y.sum() * t\n    return s\n"
    )
    apart = way.replace("w = z", "logits = z").replace("w.softmax", "logits.softmax")
    apart = apart.replace("w.log()", "torch.log_softmax(logits, dim=1)")
    assert fixed(source)[0] == source.replace(way, apart)
