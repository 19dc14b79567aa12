"""What drawn programs are made of: lines with places for names, numbers and tensors.

`{t}`, `{u}` and `{w}` are tensors, `{T}` is one that may be written into, `{n}` and `{m}` are numbers, `{k}` and `{j}`
literals, `{i}` is a number that makes names new.
"""

from __future__ import annotations

LITERALS = "0 1 -1 0.5 2 1e-6 3 -2 1e-3 10 0.1 -0.5".split()

TENSORS = """
torch.abs({t}) | -{t} | {t}.exp() | torch.log({t}) | torch.sqrt({t}) | torch.relu({t}) | torch.sigmoid({t}) | {t}.tanh()
{t}.sin() | {t}.square() | {t}.sign() | torch.floor({t}) | {t}.ceil() | {t}.round() | torch.trunc({t}) | {t}.frac()
torch.expm1({t}) | torch.log1p({t}) | {t}.rsqrt() | torch.reciprocal({t}) | {t}.erf() | {t}.cosh() | {t}.atan()
F.softmax({t}, dim=-1) | F.log_softmax({t}, dim=-1) | {t}.cumsum(0) | torch.cumprod({t}, 0) | {t}.flip(0) | {t}.sum()
{t}.sum(-1, keepdim=True) | {t}.mean() | {t}.mean(0, keepdim=True) | {t}.max() | {t}.min() | {t}.amax(-1, keepdim=True)
{t}.amin(0, keepdim=True) | {t}.max(-1, keepdim=True)[0] | {t}.prod(-1, keepdim=True) | {t}.var(-1, keepdim=True)
{t}.std(-1, keepdim=True) | {t}.norm(dim=-1, keepdim=True) | torch.norm({t}) | {t}.median() | {t}.logsumexp(-1)
{t} + {u} | {t} - {u} | {t} * {u} | {t} / {u} | {t} ** 2 | {t} ** {k} | {t}.pow(3) | {k} - {t} | {k} / {t} | {t} + {k}
{t} * {k} | {t} - {k} | {t} / {k} | {t} % {k} | {t} // {k} | torch.remainder({t}, {u}) | torch.maximum({t}, {u})
torch.minimum({t}, {u}) | torch.where({t} > {k}, {t}, {u}) | torch.where({t} > 0, {t}, {k})
torch.where({t} == 0, 1.0, {t}) | {t}.masked_fill({u} > {k}, {j}) | {t}.masked_fill({t} <= 0, {k}) | {t}.clamp({k}, {j})
{t}.clamp(min={k}) | {t}.clamp(max={k}) | torch.clamp({t}, {u}, {w}) | {t}.clamp(-100, 100).int() | {t}.half()
{t}.clamp(0, 100).to(torch.uint8) | {t}.clamp(-100, 100).long() | {t}.double() | {t}.bool() | ({t} > {k}).float()
({t} == {u}).sum() | {t}.detach() | {t}.clone() | {t}.view(-1) | {t}.reshape(-1) | {t}.T | {t}.unsqueeze(0) | {t}[0]
{t}[..., 0] | {t}[:1] | {t}[-1] | {t}[{t} > {k}] | {t}.expand_as({u}) | torch.cat([{t}, {u}]) | torch.stack([{t}, {u}])
torch.zeros_like({t}) | torch.ones_like({t}) | torch.full_like({t}, {k}) | torch.tensor({k}) | torch.arange(4.0)
torch.linspace({k}, {j}, 4) | torch.eye(4) | {t} @ {u} | {t} @ {t}.T | torch.einsum('ij,kj->ik', {t}, {u})
torch.tril({t}) | F.softplus({t}) | F.gelu({t}) | F.elu({t}) | F.silu({t}) | F.normalize({t}, dim=-1)
F.mse_loss({t}, {u}) | F.cosine_similarity({t}, {u}, dim=-1) | F.one_hot({t}.clamp(0, 3).long(), 4) | F.logsigmoid({t})
F.hardtanh({t}) | F.pad({t}, (1, 1)) | F.dropout({t}, 0.5) | torch.nan_to_num({t}) | {t}.topk(2, -1)[0]
{t}.sort(-1)[0] | {t}.argmax(-1) | {t}.unique() | {t}.diff() | torch.diagonal({t}) | torch.cdist({t}, {u})
{t}.roll(1, 0) | torch.gather({t}, -1, {t}.argmax(-1, keepdim=True)) | {t}.chunk(2, -1)[0] | {t}.unbind(0)[0]
torch.bincount({t}.clamp(0, 3).long().view(-1)) | {t}.count_nonzero() | torch.logaddexp({t}, {u}) | torch.hypot({t}, {u})
torch.atan2({t}, {u}) | torch.lerp({t}, {u}, 0.5) | torch.addcmul({t}, {u}, {u}) | {t}.fmod({k}) | {t}.sub({u}).abs()
torch.sub({t}, {u}, alpha=2) | torch.add({t}, {u}, alpha={k}) | torch.var({t}, dim=-1, unbiased=False)
torch.xlogy({t}, {u}) | {t}.acos() | ({t} - {t}.max()).exp() | {t} / {t}.sum(-1, keepdim=True) | {t}.abs() + {k}
{t}.abs().clamp(min={k}) | {t}.exp() + {k} | F.softplus({t}) + {k} | torch.sigmoid({t}) + {k} | {t} ** 2 + {k}
{t}.clamp(min=1e-6) | ({t} > 0).sum().clamp(min=1) | {t}.masked_fill({t} == 0, 1) | {t}.softmax(-1).sum(-1)
({t} == {t}.max()).sum() | ({t} - {t}.amax(-1, keepdim=True)).exp().sum(-1) | 1 + {t}.relu() | 2 - torch.tanh({t})
1.5 - torch.sigmoid({t}) | {t}.norm() + {k} | {t}.argsort() + 1 | {t}.var() + {k} | torch.maximum({t}, torch.tensor({k}))
{t}.numel() + {t}.abs() | {t}.std(-1, keepdim=True).clamp_min({k}) | {t}.sum(0) / {t}.shape[0] | 1 - {t}.softmax(-1) / 2
torch.zeros(3, 4).scatter(1, {t}.argsort(-1)[:, :1], {k})
"""

NUMBERS = """
{t}.sum().item() | float({t}.max()) | {t}.shape[0] | len({t}) | {t}.numel() | {n} + {k} | {n} * {m} | max({n}, {k})
min({n}, 1) | abs({n}) | {n} // 2 | {n} / 2 | {n} ** 2 | -{n} | round({n}) | int({n}) | math.sqrt(abs({n})) | {n} % 3
sum([{n}, {m}]) | bool({n}) | max([{n}, {m}, {k}]) | {n} if {n} > {k} else {j} | 1 - {n} | ({t} > {k}).sum().item()
max(len({t}), 1) | {t}.shape[-1] - 1 | abs({n}) + 1 | {n} or 1 | int({n}) or 2 | {n} ** 2 + 1
"""

WRITES = """
{T} *= {k} | {T} += {t} | {T} -= {k} | {T} = {T} / 2 | {T}.clamp_({k}, {j}) | {T}.mul_({k}) | {T}.add_({t}) | {T}.relu_()
{T}.zero_() | {T}.fill_({k}) | {T}[0] = {k} | {T}[{T} > {k}] = {j} | {T}[:] = {t} | {T}.copy_({t}) | {T}[..., 0] = {k}
{T}.view(-1).sub_({k}) | {T}.abs_() | {T}.neg_() | {T}.exp_() | {T}.masked_fill_({t} > {k}, {j}) | {T}.data.mul_({k})
torch.mul({t}, {k}, out={T}) | {T}[1:] += {k} | {T}.T.sub_({k}) | {T}.sub_({t}).abs_() | torch.relu_({T})
{T}.index_fill_(0, torch.tensor([0]), {k}) | {T}.floor_() | {T}.pow_(2) | {T}.div_({k}) | {T}.fill_diagonal_({k})
{T}.uniform_({k}, {j}) | {T}.detach().mul_({k}) | {T}.flatten().neg_() | {T}[0].sub_({k}) | {T}[[0]] = {k}
{T}.scatter_(-1, {T}.argmax(-1, keepdim=True), {k}) | F.relu({T}, inplace=True) | torch.nn.init.constant_({T}, {k})
"""

TESTS = "{n} > {k} | {t}.sum() > {k} | ({t} > {k}).any() | ({t} > {k}).all() | {t}.max() <= {k} | {n} == 0 | not {n}"

# Statements that bind `v{i}`, between blank lines; `{write}` is a write and `{test}` a test.
BLOCKS = """
v{i} = {T}

v{i} = {T}.view(-1)

v{i} = {T}[0]

v{i} = {T}.detach()

v{i} = {t}.abs() + 1
if {test}:
    {write}
else:
    v{i} = {u}

v{i} = {t}.abs() + 1
for _ in range(2):
    {write}

v{i} = {t}.abs() + 1
count{i} = 0
while count{i} < 2:
    count{i} += 1
    v{i} = v{i} * {k}

v{i} = {t}.abs() + 1
try:
    v{i} = v{i} * {k}
    raise ValueError
except ValueError:
    pass
finally:
    v{i} = v{i} + {j}

v{i} = {t}.abs() + 1
for step in range(3):
    if step == 1:
        v{i} = v{i} * {k}
        break
else:
    v{i} = {u}

def g{i}(z, e={k}):
    z = z + e
    return z.abs()
v{i} = g{i}({t}, {j})

v{i} = {t}.abs() + 1
def g{i}(z):
    other = z
    other += {k}
g{i}(v{i})

v{i} = {t}.abs() + 1
def g{i}():
    nonlocal v{i}
    v{i} = v{i} * {k}
g{i}()

e{i} = {k}
def g{i}(z):
    return z.abs() + e{i}
e{i} = {j}
v{i} = g{i}({t})

g{i} = lambda z, w=2: z.mul_({k})
v{i} = {t}.abs() + 1
g{i}(v{i})

def g{i}(*zs, **named):
    return zs[-1].abs() + named.get("e", {k})
v{i} = g{i}({t}, {u}, e={j})

def g{i}():
    yield {t}.abs() + 1
    yield {u}
for v{i} in g{i}():
    pass

class C{i}:
    e = 1
    def f(self, z):
        return z.abs() + self.e
o{i} = C{i}()
o{i}.e = {k}
v{i} = o{i}.f({t})

class C{i}:
    def __init__(self, e=1):
        self.e = e
    def reset(self):
        self.e = {k}
    def f(self, z):
        self.reset()
        return z.abs() + self.e
v{i} = C{i}().f({t})

class B{i}:
    e = 1
class C{i}(B{i}):
    e = {k}
v{i} = {t}.abs() + C{i}.e

xs{i} = [{t}.abs() + 1, {u}]
xs{i}[0] = xs{i}[1].abs()
v{i} = xs{i}[0]

xs{i} = [{t}.abs() + 1]
ys{i} = xs{i}
ys{i}[0].mul_({k})
v{i} = xs{i}[0]

v{i} = {t}.abs() + 1
xs{i} = [v{i}, {u}.clone()]
for z in xs{i}:
    z.mul_({k})

v{i} = {t}.abs() + 1
xs{i} = [{u}.clone()]
xs{i} += [v{i}]
xs{i}.pop().fill_({k})

d{i} = dict(a={t}.abs() + 1)
e{i} = d{i}
e{i}["a"] = {u}
v{i} = d{i}["a"]

v{i} = {t}.abs() + 1
{{"a": v{i}}}.get("a").mul_({k})

v{i} = torch.stack([row * {k} for row in {t}])

v{i} = torch.stack([z.abs() + {k} for z in ({t}, {u})])

a{i} = np.clip({t}.detach().numpy(), 0.5, 2).astype(np.int32)
v{i} = torch.tensor(a{i})

a{i} = np.abs({t}.detach().numpy()) + 1
v{i} = torch.from_numpy(a{i})
a{i} *= {k}

v{i}, b{i} = {t}.abs() + 1, {u}
v{i}, b{i} = b{i}, v{i}

v{i} = b{i} = {t}.abs() + 1
b{i} *= {k}

v{i}, b{i} = torch.chunk({t}.abs() + 1, 2, -1)
b{i}.zero_()

v{i} = {t}.abs() + 1
b{i} = {t}.abs() + 1
b{i}.mul_({k})

with torch.no_grad():
    v{i} = {t}.abs() + {k}
"""

# What is asked of a tensor or a number `{v}` at the end.
SITES = """
1 / {v} | torch.log({v}) | torch.sqrt({v}) | 1 / {v}.sum() | torch.log({v}.mean()) | 1 / {v}.norm() | torch.rsqrt({v})
{v} / {v}.sum(-1, keepdim=True) | 1 / ({v} + 1) | torch.log(1 - {v}) | torch.log1p({v}) | torch.acos({v}) | {v} ** -0.5
1 / {v}.max() | 1 / {v}.min() | 1 / ({v} > 0).sum() | torch.log({v}.sum(-1)) | 1 / {v}[0] | 1 / {v}.view(-1)[-1]
torch.log({v}.abs().max()) | 1 / {v}.long() | 1 / ({v} - {v}.mean()) | 1 / {v}.numel() | 1 / len({v}) | torch.logit({v})
torch.atanh({v}) | {v} ** 0.3 | 1 / {v}.to(torch.uint8)
"""
NUMBER_SITES = "1 / {v} | math.log({v}) | math.sqrt({v}) | 1 / ({v} + 1)"


def parts(text: str) -> list[str]:
    """The templates of a table, which `|` and line ends part."""
    return [part.strip() for line in text.strip().splitlines() for part in line.split(" | ")]


def blocks(text: str) -> list[str]:
    """The templates of several lines, which blank lines part."""
    return [block.strip("\n") for block in text.strip().split("\n\n")]
