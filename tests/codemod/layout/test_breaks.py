import pytest

from stablelint.diagnostic import Binding
from tests.codemod.support import HEAD, body, proposal, rewritten

GUARD = "$b.masked_fill($b.abs() < torch.finfo($b.dtype).eps, numpy.finfo($b.dtype).tiny)"
NAMED = "$b.masked_fill($b.abs() < torch.finfo($b.dtype).eps, torch.finfo($b.dtype).eps)"


def test_a_line_that_gets_too_long_is_broken_at_the_arguments() -> None:
    source = (
        "import torch, numpy\ndef f(overlap, denominators):\n    return overlap / denominators  # ratio\n"
    )
    after = rewritten(source, proposal(source, "denominators", GUARD, occurrence=1, b="denominators"))
    assert after == (
        "import torch, numpy\ndef f(overlap, denominators):\n    return overlap / denominators.masked_fill(\n"
        "        denominators.abs() < torch.finfo(denominators.dtype).eps,\n"
        "        numpy.finfo(denominators.dtype).tiny,\n"
        "    )  # ratio\n"
    )


def test_limits_stay_where_no_name_can_be_given_to_them() -> None:
    source = (
        "import torch\nratio = lambda overlap, denominators: overlap / denominators  # used by all of them\n"
    )
    after = rewritten(source, proposal(source, "denominators", NAMED, occurrence=1, b="denominators"))
    assert after.count("torch.finfo(denominators.dtype).eps") == 2


def test_a_line_stays_whole_where_the_file_has_lines_as_long() -> None:
    source = f"import torch, numpy\nx = '{'a' * 110}'\ny = a / b\n"
    after = rewritten(source, proposal(source, "b", GUARD, occurrence=source.count("b") - 1, b="b"))
    assert after.splitlines()[-1].startswith("y = a / b.masked_fill(b.abs() <")
    assert after.count("\n") == source.count("\n")


def test_the_line_is_broken_at_the_last_outermost_brackets() -> None:
    source = (
        "import torch\ndef f(a):\n    return (a - a.mean()) / (a.std(correction=0, dim=-1, keepdim=True))\n"
    )
    template = "$b + torch.finfo(torch.float32).eps"
    text = "a.std(correction=0, dim=-1, keepdim=True)"
    assert rewritten(source, proposal(source, text, template, b=text)).endswith(
        "    return (a - a.mean()) / (\n"
        "        a.std(correction=0, dim=-1, keepdim=True) + torch.finfo(torch.float32).eps\n    )\n"
    )


def test_a_call_around_the_rewrite_is_broken_before_the_rewrite_itself() -> None:
    source = "import torch\ndef f(s):\n    weights = torch.softmax(s.masked_fill(s.isinf(), value), dim=-1)\n"
    change = proposal(source, "value", "torch.finfo($s.dtype).smallest_normal", s=Binding("s"))
    assert rewritten(source, change).endswith(
        "    weights = torch.softmax(\n"
        "        s.masked_fill(s.isinf(), torch.finfo(s.dtype).smallest_normal), dim=-1\n    )\n"
    )


def test_the_break_has_the_newline_and_indentation_of_the_file() -> None:
    source = "import torch, numpy\r\nif a:\r\n\tfirst_value = second_value / third_value\r\n"
    after = rewritten(source, proposal(source, "third_value", GUARD, b="third_value"))
    assert ".masked_fill(\r\n\t\tthird_value.abs() < " in after
    assert after.endswith(".tiny\r\n\t)\r\n")


def test_what_is_too_long_on_a_line_of_its_own_is_broken_at_its_parts() -> None:
    names = "first_operand, second_operand, third_operand"
    source = f"import torch, numpy\ndef f({names}):\n    return g({names})\n"
    template = "$b.clamp(torch.finfo($b.dtype).smallest_normal, numpy.finfo($b.dtype).max)"
    after = rewritten(source, proposal(source, "second_operand", template, occurrence=1, b="second_operand"))
    assert after.endswith(
        "    return g(\n"
        "        first_operand,\n"
        "        second_operand.clamp(\n"
        "            torch.finfo(second_operand.dtype).smallest_normal,\n"
        "            numpy.finfo(second_operand.dtype).max,\n"
        "        ),\n"
        "        third_operand,\n    )\n"
    )


def test_the_commas_of_a_comprehension_part_nothing() -> None:
    source = "import torch\ny = [first * (second - third.log()) for first, second, third in zip(many, more, most)]\n"
    after = rewritten(
        source, proposal(source, "third", "$b.clamp_min(torch.finfo($b.dtype).tiny)", b="third")
    )
    assert after.endswith(
        "y = [\n    first * (second - third.clamp_min(torch.finfo(third.dtype).tiny).log())\n"
        "    for first, second, third in zip(many, more, most)\n]\n"
    )


def test_a_method_goes_on_a_line_of_its_own_where_the_chain_does() -> None:
    source = "import torch\ny = (\n    torch.tensor(x)\n    .exp()\n    .mean()\n)\n"
    after = rewritten(source, proposal(source, "torch.tensor(x)", "$x.clamp(max=80.0)", x="torch.tensor(x)"))
    assert (
        after
        == "import torch\ny = (\n    torch.tensor(x)\n    .clamp(max=80.0)\n    .exp()\n    .mean()\n)\n"
    )


def test_what_stood_on_several_lines_is_broken_when_it_comes_to_stand_on_one() -> None:
    source = "import torch\nlength = torch.sqrt(\n    torch.sum((first_operand_of_many - second_operand_of_many) ** 2)\n)\n"
    whole = source[source.index("torch.sqrt") :].rstrip()
    operand = "first_operand_of_many - second_operand_of_many"
    after = rewritten(
        source, proposal(source, whole, "torch.linalg.vector_norm($x, dim=-1, keepdim=True)", x=operand)
    )
    assert after == (
        "import torch\nlength = torch.linalg.vector_norm(\n"
        "    first_operand_of_many - second_operand_of_many, dim=-1, keepdim=True\n)\n"
    )


def test_a_value_that_fits_in_parentheses_is_not_broken_in_its_middle() -> None:
    source = "import torch\ndef f(a, b, sample):\n    largest_values = a - b * sample.log().log()\n"
    after = rewritten(
        source,
        proposal(source, "sample", "$x.clamp_min(torch.finfo($x.dtype).tiny)", occurrence=1, x="sample"),
    )
    assert after.endswith(
        "    largest_values = (\n"
        "        a - b * sample.clamp_min(torch.finfo(sample.dtype).tiny).log().log()\n    )\n"
    )


def test_a_comment_stays_behind_the_value_that_moved_into_parentheses() -> None:
    source = (
        "import torch\nproportion = (right_cumulated - value) / widths_of_all_the_buckets_there  # of 1\n"
    )
    after = rewritten(
        source,
        proposal(
            source,
            "widths_of_all_the_buckets_there",
            "$b.clamp_min(1e-12)",
            b="widths_of_all_the_buckets_there",
        ),
    )
    assert after == (
        "import torch\nproportion = (\n"
        "    (right_cumulated - value) / widths_of_all_the_buckets_there.clamp_min(1e-12)\n)  # of 1\n"
    )


@pytest.mark.parametrize(
    ("opening", "whole", "expected"),
    [
        ("(\n    -", "(message - total)\n    .exp()\n    .log1p()", "-{}\n"),
        ("(  # why\n    ", "(message - total).exp().log1p()", "(  # why\n    {}\n)\n"),
    ],
)
def test_parentheses_go_with_the_lines_that_they_held_unless_a_comment_stands_in_them(
    opening: str, whole: str, expected: str
) -> None:
    source = f"import torch\ny = {opening}{whole}\n)\n"
    softplus = proposal(source, whole, "torch.nn.functional.softplus($x)", x="message - total")
    written = expected.format("torch.nn.functional.softplus(message - total)")
    assert rewritten(source, softplus) == f"import torch\ny = {written}"


def test_a_chain_of_lines_is_rewritten_as_one() -> None:
    source = "import torch\ny = (\n    torch.pow(x, 2)\n    .prod(dim=-1, keepdim=True)\n    .log()\n)\n"
    whole = "torch.pow(x, 2)\n    .prod(dim=-1, keepdim=True)\n    .log()"
    template = "torch.sum(torch.log($x), dim=$d, keepdim=$k)"
    after = rewritten(source, proposal(source, whole, template, x="torch.pow(x, 2)", d="-1", k="True"))
    assert after == "import torch\ny = torch.pow(x, 2).log().sum(dim=-1, keepdim=True)\n"


def test_a_chain_that_does_not_fit_in_parentheses_gets_a_line_for_each_link() -> None:
    source = (
        "import torch\ndef f(x):\n    return x.double().erfc().log().to(dtype=x.dtype, device=x.device)\n"
    )
    guard = "$e.clamp_min(torch.finfo(torch.float64).tiny)"
    text = "x.double().erfc()"
    assert rewritten(source, proposal(source, text, guard, e=text)) == (
        "import torch\ndef f(x):\n    return (\n        x.double()\n        .erfc()\n"
        "        .clamp_min(torch.finfo(torch.float64).tiny)\n        .log()\n"
        "        .to(dtype=x.dtype, device=x.device)\n    )\n"
    )


def test_a_method_goes_behind_the_brackets_that_hold_its_operand_on_lines() -> None:
    source = "import torch\ny = (\n    (\n        squares.sum()\n        / count\n    )\n    .sqrt()\n)\n"
    quotient = "squares.sum()\n        / count"
    assert rewritten(source, proposal(source, quotient, "$x.clamp_min(1e-30)", x=quotient)) == (
        "import torch\ny = (\n    (\n        squares.sum()\n        / count\n    )\n"
        "    .clamp_min(1e-30)\n    .sqrt()\n)\n"
    )


def test_a_sum_that_does_not_fit_in_parentheses_gets_a_line_for_each_term() -> None:
    source = "import torch\ndef f(scale):\n    log_normalizer = scale.log() - scale.sinh().log() - first_offset + last\n"
    after = rewritten(
        source, proposal(source, "scale", "$x.clamp_min(torch.finfo($x.dtype).tiny)", occurrence=1, x="scale")
    )
    assert after.endswith(
        "    log_normalizer = (\n        scale.clamp_min(torch.finfo(scale.dtype).tiny).log()\n"
        "        - scale.sinh().log()\n        - first_offset\n        + last\n    )\n"
    )


@pytest.mark.parametrize(
    ("strings", "written"),
    [("a, b = 'x', 'it'", "reduction='sum'"), ('a, b = "x", "it\'s"', 'reduction="sum"')],
)
def test_strings_are_written_with_the_marks_that_the_file_uses(strings: str, written: str) -> None:
    source = f"import torch\n{strings}\nloss = torch.nn.functional.l1_loss(p, q)\n"
    template = "torch.nn.functional.l1_loss($p, $q, reduction='sum') / 2"
    change = proposal(source, "torch.nn.functional.l1_loss(p, q)", template, p="p", q="q")
    assert written in rewritten(source, change)


@pytest.mark.parametrize("prose", ['"""{}"""', "# {}"])
def test_prose_is_no_measure_of_how_long_a_line_may_be(prose: str) -> None:
    filler = "\n".join([prose.format("a sentence that goes on " * 5)] * 4)
    source = f"import torch\n{filler}\nresult = first_of_the_operands * torch.log(torch.relu(second_of_the_operands))\n"
    change = proposal(
        source,
        "torch.relu(second_of_the_operands)",
        "$x.clamp_min(torch.finfo(y.dtype).tiny)",
        x="torch.relu(second_of_the_operands)",
    )
    after = rewritten(source, change).removeprefix(f"import torch\n{filler}\n")
    assert max(map(len, after.splitlines())) <= 88


def test_a_chain_behind_parentheses_gets_a_line_for_each_link() -> None:
    source = (
        HEAD
        + "scale = x.std(dim=2, unbiased=False).view(batch, 2, 1, 1, 1).expand(batch, 2, channels, 1, 1)\n"
    )
    change = proposal(source, "x.std(dim=2, unbiased=False)", "$s + 1e-8", s="x.std(dim=2, unbiased=False)")
    assert body(rewritten(source, change)) == (
        "scale = (\n    (x.std(dim=2, unbiased=False) + 1e-8)\n    .view(batch, 2, 1, 1, 1)\n"
        "    .expand(batch, 2, channels, 1, 1)\n)\n"
    )


def test_spaces_within_brackets_do_not_move_what_is_put_on_lines_of_its_own() -> None:
    value = "-0.5 * ( x.sum() + torch.pow( x - mean, 2 ) / torch.exp( d ) )"
    source = f"{HEAD}def f(x, mean, d):\n    return {value}\n"
    template = "$d.masked_fill(torch.isnan($d) | torch.isinf($d), 1e-30)"
    after = rewritten(source, proposal(source, "torch.exp( d )", template, d="torch.exp( d )"))
    assert "    return -0.5 * (\n        x.sum()\n" in after
    assert after.endswith("\n    )\n")
    assert [line for line in after.splitlines() if line != line.rstrip()] == []


def test_the_second_of_two_operands_is_opened_where_it_ends_in_brackets() -> None:
    source = (
        "import torch\ndef f(scale, weights):\n"
        "    return scale.exp() * torch.cat([weights, weights.flip(0), weights], dim=1)\n"
    )
    after = rewritten(source, proposal(source, "scale", "$x.clamp(-40.0, 20.0)", occurrence=1, x="scale"))
    assert after.endswith(
        "    return scale.clamp(-40.0, 20.0).exp() * torch.cat(\n"
        "        [weights, weights.flip(0), weights], dim=1\n    )\n"
    )


def test_a_method_behind_the_last_link_of_a_chain_is_a_link_of_it() -> None:
    source = HEAD + "def f(x, m):\n    return (\n        x\n        / m.float()\n        .sum(0)\n    )\n"
    value = "m.float()\n        .sum(0)"
    change = proposal(source, value, "$s.clamp_min(1)", s=value)
    assert rewritten(source, change).endswith("        .sum(0)\n        .clamp_min(1)\n    )\n")


def test_a_line_whose_last_bracket_other_lines_close_is_broken_in_an_earlier_one() -> None:
    start = "    first_result = first_operand / torch.norm(first_operand) + torch.exp2("
    source = f"{HEAD}def f(first_operand, second):\n{start}\n        second\n    )\n"
    change = proposal(
        source,
        "torch.norm(first_operand)",
        "$n.clamp_min(torch.finfo(first_operand.dtype).tiny ** 0.5)",
        n="torch.norm(first_operand)",
    )
    assert rewritten(source, change).endswith(
        "    first_result = first_operand / torch.norm(first_operand).clamp_min(\n"
        "        torch.finfo(first_operand.dtype).tiny ** 0.5\n    ) + torch.exp2(\n        second\n    )\n"
    )


def test_a_line_that_closes_brackets_of_others_is_broken_in_its_own() -> None:
    source = (
        f"{HEAD}def f(grip, first_operand, second_operand):\n    limit = (first_operand +\n"
        "             torch.sqrt(torch.clamp(grip - second_operand, min=0)))\n    return limit\n"
    )
    change = proposal(
        source, "grip - second_operand", "(grip - second_operand).clamp_min(torch.finfo(grip.dtype).tiny)"
    )
    assert body(rewritten(source, change)) == (
        "def f(grip, first_operand, second_operand):\n    limit = (first_operand +\n"
        "             torch.sqrt(\n"
        "                 torch.clamp((grip - second_operand).clamp_min(torch.finfo(grip.dtype).tiny), min=0)\n"
        "             ))\n    return limit\n"
    )


def test_a_comment_of_its_own_stays_two_spaces_behind_the_code() -> None:
    source = f"{HEAD}def f(x, y):\n    return y / x.sum()  # mean\n"
    change = proposal(source, "x.sum()", "$n.clamp_min(1)", n="x.sum()")
    assert "    return y / x.sum().clamp_min(1)  # mean\n" in rewritten(source, change)


def test_a_term_behind_a_sum_of_lines_gets_a_line_of_its_own() -> None:
    total = "(\n        x.sum()\n        + z.sum()\n    )"
    source = f"{HEAD}def f(y, x, z):\n    return y / {total}\n"
    given = "x.sum()\n        + z.sum()"
    assert body(rewritten(source, proposal(source, given, "$n + 1e-7", n=given))) == (
        "def f(y, x, z):\n    return y / (\n        x.sum()\n        + z.sum()\n        + 1e-7\n    )\n"
    )


def test_brackets_around_lines_go_where_what_takes_their_place_fits_on_one() -> None:
    mean = "(\n        x.sum(\n            0\n        )\n    )"
    source = f"{HEAD}def f(g, x):\n    return g(\n        1,\n        y={mean},\n    )\n"
    given = "x.sum(\n            0\n        )"
    assert "        y=x + 1,\n" in rewritten(source, proposal(source, given, "$x + 1", x="x"))


def test_a_call_whose_argument_gets_short_enough_stands_on_one_line() -> None:
    product = "first_operand * (second if first_operand is None else third_operand_of_all) + second"
    source = f"{HEAD}def f(first_operand, second):\n    angle = torch.asin(\n        {product}\n    )\n    return angle\n"
    change = proposal(source, product, "$x.clamp(-1 + torch.finfo($x.dtype).eps, 0)", x=product)
    assert "    angle = torch.asin(total.clamp(-1 + torch.finfo(total.dtype).eps, 0))\n" in rewritten(
        source, change
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(1 - x.exp()) / y", "-torch.expm1(x) / y"),
        ("(1 - x.exp()) ** 2", "(-torch.expm1(x)) ** 2"),
        ("y * (1 - x.exp())", "y * (-torch.expm1(x))"),
        ("y - (1 - x.exp()) / y", "y - (-torch.expm1(x)) / y"),
    ],
)
def test_brackets_stay_around_a_sign_behind_an_operator_alone(before: str, after: str) -> None:
    source = f"{HEAD}def f(x, y):\n    return {before}\n"
    change = proposal(source, "1 - x.exp()", "-torch.expm1($x)", x="x")
    assert f"    return {after}\n" in rewritten(source, change)


def test_a_sum_that_stood_further_in_is_spread_anew() -> None:
    first, second = "first_long_factor * second_long_factor", "third_long_factor * fourth_factor"
    given = f"{first}\n            * {second}"
    call = f"torch.log(\n        1\n        - (\n            {given}\n        )\n    )"
    source = f"{HEAD}def f(x):\n    return {call}\n"
    assert body(rewritten(source, proposal(source, call, "torch.log1p(-$x)", x=given))) == (
        f"def f(x):\n    return torch.log1p(\n        -({first} * {second})\n    )\n"
    )


def test_a_file_that_keeps_to_79_columns_is_kept_to_them() -> None:
    full = "".join(f"value_{i} = ".ljust(78, "x") + "\n" for i in range(4))
    line = "ratios = overlap_of_pairs_of_boxes / first\n"
    template = "$b.clamp_min(0) + torch.finfo(torch.float).eps"
    for before, longest in ((full, 79), ("", 88)):
        source = f"import torch\n{before}{line}"
        after = rewritten(source, proposal(source, "first", template, b="first"))
        assert max(map(len, after.splitlines())) <= longest
        assert after.count("\n") == source.count("\n") + 2 * bool(before)


def test_an_argument_in_parentheses_is_broken_within_them() -> None:
    source = (
        "import torch, numpy\ndef f(overlap, denominators, others):\n"
        "    return torch.where(others, (overlap * 2 / denominators), torch.zeros_like(denominators))\n"
    )
    after = rewritten(source, proposal(source, "denominators", GUARD, occurrence=1, b="denominators"))
    assert "        (\n            overlap\n            * 2\n            / denominators" in after


def test_blanks_behind_a_line_do_not_make_it_too_long() -> None:
    source = f"import torch\nratio = (overlap + others).abs() / first{' ' * 40}\n"
    template = "$b.clamp_min(0) + torch.finfo(torch.float).eps"
    assert rewritten(source, proposal(source, "first", template, b="first")).count("\n") == 2


def test_what_stood_on_several_lines_before_a_comment_stays_broken() -> None:
    call = "torch.log(\n    first + 1\n)"
    comment = "  # the logarithm of a distance, which is 0 for what lies at the very same place"
    source = f"import torch\ny = {call}{comment}\n"
    after = rewritten(source, proposal(source, call, "torch.log1p($x)", x="first"))
    assert after == source.replace("torch.log(", "torch.log1p(").replace("first + 1", "first")


def test_no_blank_follows_the_tabs_of_a_new_line() -> None:
    read = "torch.sum(second * torch.log(first / second.T), dim=dims)"
    source = f"import torch\ndef f(first, second, dims):\n\treturn {read}\n"
    template = "torch.log($a.clamp_min(torch.finfo($a.dtype).tiny)) - torch.log($b.clamp_min(torch.finfo($b.dtype).tiny))"
    change = proposal(source, "torch.log(first / second.T)", template, a="first", b="second.T")
    after = rewritten(source, change)
    assert after.count("\n") > source.count("\n")
    assert "\t " not in after
    assert all(one == one.rstrip() for one in after.splitlines())


@pytest.mark.parametrize(
    ("norm", "after"),
    [
        ("torch.norm(v.transpose(0, 1).contiguous().view(first, second), 2, 1).squeeze(1)", "scale / norm."),
        ("v.norm()", "scale / \\\n        v_norm."),
    ],
)
def test_a_line_that_was_carried_on_for_its_length_is_one_where_it_fits(norm: str, after: str) -> None:
    source = (
        f"import torch\ndef f(v, scale, first, second):\n    y = scale / \\\n        {norm}\n    return y\n"
    )
    change = proposal(source, norm, "$x.masked_fill($x == 0, 1)", x=norm)
    assert f"    y = {after}masked_fill(" in rewritten(source, change)


def test_a_tuple_without_brackets_gets_them_where_it_gets_too_long() -> None:
    line = "first_distances.sqrt(), second_distances, first_of_all_indices, second_of_all_indices"
    source = f"import torch\ndef f(x):\n    return {line}\n"
    change = proposal(
        source, "first_distances", "$x.clamp_min(torch.finfo($x.dtype).tiny)", x="first_distances"
    )
    assert rewritten(source, change) == (
        "import torch\ndef f(x):\n    return (\n"
        "        first_distances.clamp_min(torch.finfo(first_distances.dtype).tiny).sqrt(),\n"
        "        second_distances,\n        first_of_all_indices,\n        second_of_all_indices,\n    )\n"
    )
