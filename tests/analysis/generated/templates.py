"""What drawn programs are made of: lines with places for names, numbers and tensors.

`{t}`, `{u}` and `{w}` are tensors, `{T}` is one that may be written into, `{n}` and `{m}` are numbers, `{k}` and `{j}`
literals, `{d}` a dimension, `{i}` is a number that makes names new.
"""

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
torch.bincount({t}.clamp(0, 3).long().view(-1)) | {t}.count_nonzero() | torch.logaddexp({t}, {u})
torch.hypot({t}, {u})
torch.atan2({t}, {u}) | torch.lerp({t}, {u}, 0.5) | torch.addcmul({t}, {u}, {u}) | {t}.fmod({k}) | {t}.sub({u}).abs()
torch.sub({t}, {u}, alpha=2) | torch.add({t}, {u}, alpha={k}) | torch.var({t}, dim=-1, unbiased=False)
torch.xlogy({t}, {u}) | {t}.acos() | ({t} - {t}.max()).exp() | {t} / {t}.sum(-1, keepdim=True) | {t}.abs() + {k}
{t}.abs().clamp(min={k}) | {t}.exp() + {k} | F.softplus({t}) + {k} | torch.sigmoid({t}) + {k} | {t} ** 2 + {k}
{t}.clamp(min=1e-6) | ({t} > 0).sum().clamp(min=1) | {t}.masked_fill({t} == 0, 1) | {t}.softmax(-1).sum(-1)
({t} == {t}.max()).sum() | ({t} - {t}.amax(-1, keepdim=True)).exp().sum(-1) | 1 + {t}.relu() | 2 - torch.tanh({t})
1.5 - torch.sigmoid({t}) | {t}.norm() + {k} | {t}.argsort() + 1 | {t}.var() + {k}
torch.maximum({t}, torch.tensor({k}))
{t}.numel() + {t}.abs() | {t}.std(-1, keepdim=True).clamp_min({k}) | {t}.sum(0) / {t}.shape[0] | 1 - {t}.softmax(-1) / 2
torch.zeros(4, 4).scatter(1, {t}.argsort(-1)[:, :1], {k}) | {t}.half().float() | ({t}.abs() + {k}).half()
{t}.bfloat16() | {t}.to({u}.dtype) | {t}.type_as({u}) | {t}.to(torch.float16) | {t}.clamp(-100, 100).to(torch.int8)
{t}.clamp(-9, 9).short() * {u}.clamp(-9, 9).short() | {t}.clamp(0, 9).long() ** 2 | {t}.clamp(-9, 9).int() // 2
torch.matmul({t}, {u}.T) | torch.einsum('ij,ij->i', {t}, {u}) | torch.einsum('ij->j', {t}) | torch.outer({t}[0], {u}[0])
torch.cumsum({t}.abs(), -1) | {t}.abs().cumsum(-1) + {k} | {t}.exp().cumprod(-1) | torch.logcumsumexp({t}, -1)
{t}.cummax(-1)[0] | {t}.cummin(0).values | {t}.masked_scatter({t} > {k}, {u})
{t}.index_add(0, torch.tensor([0]), {u}[:1])
{t}.scatter_add(-1, {t}.argsort(-1), {u}) | {t}.scatter(0, {u}.argsort(0), {k})
{t}.index_copy(0, torch.tensor([1]), {u}[:1])
{t}.index_put((torch.tensor([0]),), torch.tensor({k})) | {t}.index_select(0, torch.tensor([0, 2]))
{t}.take_along_dim({t}.argsort(-1), -1)
F.leaky_relu({t}) | F.relu6({t}) | F.selu({t}) | F.celu({t}) | F.mish({t}) | F.hardsigmoid({t}) | F.hardswish({t})
F.softsign({t})
F.softmin({t}, -1) | F.threshold({t}, {k}, {j}) | F.tanhshrink({t}) | F.softshrink({t}) | F.glu({t}, -1) | F.rrelu({t})
F.layer_norm({t}, {t}.shape[-1:]) | F.l1_loss({t}, {u}, reduction='none') | F.smooth_l1_loss({t}, {u})
F.huber_loss({t}, {u})
F.binary_cross_entropy_with_logits({t}, {u}.sigmoid()) | F.cross_entropy({t}, {u}.softmax(-1))
F.kl_div({t}, {u}.softmax(-1))
F.pairwise_distance({t}, {u}) | F.max_pool1d({t}, 2) | F.avg_pool1d({t}, 2) | F.interpolate({t}[None], scale_factor=2)
{t}.real | {t}.mT | {t}.contiguous() | {t}.expand(4, -1) | {t}.movedim(0, -1) | {t}.narrow(0, 0, 1) | {t}.select(0, 0)
{t}.repeat(2, 1) | {t}.tile(2) | torch.hstack([{t}, {u}]) | torch.block_diag({t}, {u}) | {t}.nansum(-1) | {t}.nanmean()
{t}.aminmax()[0] | torch.std_mean({t})[0] | {t}.quantile(0.5) | {t}.mode(-1)[0] | {t}.kthvalue(1, -1)[0]
torch.trace({t}) | torch.diff({t}.sort(-1)[0]) | torch.heaviside({t}, {u}) | torch.copysign({t}, {u})
torch.clip({t}, {k}, {j})
torch.sinc({t}) | torch.logit({t}, {k}) | torch.float_power({t}, 2) | torch.exp2({t}) | torch.log2({t}.abs() + 1)
torch.sgn({t})
({t} > {k}) & ({u} > {k}) | ({t} > {k}).logical_not() | ({t} > {k}).sum(-1) | ({t} > {k}).float().mean()
({t} >= {t}.mean()).sum()
max({t}.sum(), {u}.sum()) | max([{t}, {u}], key=torch.sum) | sum([{t}, {u}]) | abs({t}) | pow({t}, 2)
[{t}, {u}][{n} > 0] | {t} if {n} > {k} else {u}
{t}.t() | {t}.permute(1, 0) | {t}.amax(0) | {t}.unsqueeze(1) | {t}[:, None] | {t}.amax(-1).unsqueeze(0) | {t} / {t}.T
({t} - {u}.amax(-1, keepdim=True)).exp() | ({t}.T - {t}.amax(-1, keepdim=True)).exp() | {t}.flip(-1) | {t}[..., None]
({t} - {t}.amax(-1)).exp() | ({t} - {t}.amax(-1)[:, None]).exp() | ({t}.T - {t}.amax(0)).exp() | {t}.T * ({t} > 0)
torch.where({t} > 0, {t}.T, {k}) | torch.where(({t} > {k}).all(0), {t}, {j}) | {t}[({t} > {k}).all(0)]
{t}[({t} > {k}).all(-1)] | {t}.masked_fill(({t} <= 0).T, {k}) | {t}.amax(0) - {t}.amin(-1) | {t} - {t}.amin(-1)
({t} == {t}.amax(0, keepdim=True)).sum(-1) | ({t} == {t}.max()).sum(0) | ({t} == {t}.flip(0)).sum(0)
({t} >= {t}.amax(-1)[:, None]).sum(-1) | ({t}[None] == {t}[:, None]).sum(-1) | ({t} > {k}).any(0).sum()
F.elu({t}, {n}) | F.leaky_relu({t}, {n}) | F.hardtanh({t}, min({n}, {k}), max({n}, {k})) | F.softplus({t}, {n} or 1)
torch.round({t}, decimals=-int({n} > {k})) | torch.nan_to_num({t}, {k}, {n}, {j})
torch.div({t}, {u}, rounding_mode='floor')
F.normalize({t}, p=abs({n}) + 0.1, dim=-1) | torch.norm({t}, p={n}) | torch.addmm({t}, {u}, {w}, alpha={n})
F.pad({t}, (1, 1), value={n}) | F.avg_pool1d({t}, 2, padding=1) | torch.add({t}, {u}, alpha={n})
{t}.amax(0, keepdim=True)[0]
{t} + torch.tensor({k}) | torch.maximum({t}, torch.tensor(1e-8))
{t}.half().amax() + {u}.abs() | {t}.half() + torch.rand(())
torch.where({t}.half() > 0, {t}.half(), 1.0) | torch.bitwise_not({t}.int()) | ({t}.abs() + 1).int() & 6
torch.rsub({t}.sigmoid(), 1, alpha=2) | torch.cat([{t}[{t} > 3], {u}[{u} > 3]]).abs() + 1
{t}.half().abs() + 1e-6 | torch.ones(4, dtype=torch.float16) | {t}.new_empty(4).bernoulli_(abs({n}) % 1)
{t} + ({u} - {t}).detach() | {t} + ({t} == 0) * ({u} == 0) | {t}.abs() + ({t}.abs() < {k}) * ({u} < {j})
({t}.half() - {t}.amax(-1, keepdim=True)).exp() | {t}.half().max() - {t} | {t}.softmax(-1).to(torch.uint8).sum(-1)
({t}.relu() + torch.eye(4).view(-1, 1)[:4]).sum(-1) | ({t}.abs() + torch.eye(4)[:, None]).sum(-1)
{t}.half() + ({t} == 0)
({t} - {t}.amax(1, keepdim=True)) * ({u}.abs() + 1)[:, None]
torch.zeros(4, 4).scatter(1, {t}.argmax(-1)[:2, None], {k})
(F.normalize({t}, dim=-1) * F.normalize({u}, dim=-1)).sum(-1) | F.scaled_dot_product_attention({t}, {u}, {w}, {t} > {k})
F.linear({t}, {u}, {w}[0]) | F.embedding({t}.clamp(0, 3).long(), {u}) | torch.quantile({t}, 0.5, -1)
{t}.unflatten(-1, (2, -1))
torch.where({t} == 0, 1.0, {t}).sum(-1) | F.avg_pool1d(torch.where({t} == 0, 1.0, {t}), 2) | torch.stack([{t}, {u}], 1)
{t}.sort(0)[0].diff(dim=-1) | {t}.softmax(0).amax(-1) | {t}.softmax(0).sum(-1) | {t}.T + ({t} == 0) | {t} * {t}.T
"""

NUMBERS = """
{t}.sum().item() | float({t}.max()) | {t}.shape[0] | len({t}) | {t}.numel() | {n} + {k} | {n} * {m} | max({n}, {k})
min({n}, 1) | abs({n}) | {n} // 2 | {n} / 2 | {n} ** 2 | -{n} | round({n}) | int({n}) | math.sqrt(abs({n})) | {n} % 3
sum([{n}, {m}]) | bool({n}) | max([{n}, {m}, {k}]) | {n} if {n} > {k} else {j} | 1 - {n} | ({t} > {k}).sum().item()
max(len({t}), 1) | {t}.shape[-1] - 1 | abs({n}) + 1 | {n} or 1 | int({n}) or 2 | {n} ** 2 + 1 | math.exp(min({n}, 9))
math.log1p(abs({n}))
{n} and {k} | len([z for z in {t} if z.sum() > {k}]) | {t}.size(0) // 2 | math.ceil({n}) | math.hypot({n}, {m})
divmod({n}, 2)[1]
{t}.abs().max().item() + {k} | sum(z for z in ({n}, {m})) | int({t}.sum() > {k}) | max(abs({n}), {k}) | {t}.dim() - 1
-abs({n}) - 1
"""

WRITES = """
{T} *= {k} | {T} += {t} | {T} -= {k} | {T} = {T} / 2 | {T}.clamp_({k}, {j}) | {T}.mul_({k}) | {T}.add_({t})
{T}.relu_()
{T}.zero_() | {T}.fill_({k}) | {T}[0] = {k} | {T}[{T} > {k}] = {j} | {T}[:] = {t} | {T}.copy_({t}) | {T}[..., 0] = {k}
{T}.view(-1).sub_({k}) | {T}.abs_() | {T}.neg_() | {T}.exp_() | {T}.masked_fill_({t} > {k}, {j}) | {T}.data.mul_({k})
torch.mul({t}, {k}, out={T}) | {T}[1:] += {k} | {T}.T.sub_({k}) | {T}.sub_({t}).abs_() | torch.relu_({T})
{T}.index_fill_(0, torch.tensor([0]), {k}) | {T}.floor_() | {T}.pow_(2) | {T}.div_({k}) | {T}.fill_diagonal_({k})
{T}.uniform_({k}, {j}) | {T}.detach().mul_({k}) | {T}.flatten().neg_() | {T}[0].sub_({k}) | {T}[[0]] = {k}
{T}.scatter_(-1, {T}.argmax(-1, keepdim=True), {k}) | F.relu({T}, inplace=True) | torch.nn.init.constant_({T}, {k})
getattr({T}, "mul_")({k}) | {T}.real.neg_() | ({T} if {n} > {k} else {u}.clone()).neg_()
max([{T}], key=torch.sum).mul_({k})
torch.add({t}, {k}, out={T}) | torch.abs({t}, out={T}) | torch.clamp({t}, {k}, {j}, out={T})
{T}.masked_scatter_({T} > {k}, {t})
{T}.index_put_((torch.tensor([0]),), torch.tensor({k})) | {T}.index_add_(0, torch.tensor([0]), {t}[:1])
{T}.index_copy_(0, torch.tensor([0]), {t}[:1])
{T}.scatter_add_(-1, {T}.argsort(-1), {t}) | {T}.cumsum_(-1) | {T}.clamp_min_({k}) | {T}.sign_() | {T}.lerp_({t}, 0.5)
{T}.addcmul_({t}, {t})
{T}.T[0] = {k} | {T}.view(-1)[0] = {k} | {T}.unsqueeze(0).zero_() | {T}.expand_as({T}).neg_()
{T}.narrow(0, 0, 1).fill_({k})
{T}.unbind(0)[0].fill_({k}) | {T}.chunk(2, -1)[0].mul_({k}) | next(iter([{T}])).neg_() | [{T}][0].sub_({k})
{T}.numpy()[0] = {k}
{T}.requires_grad_(False).mul_({k}) | {T}.detach()[0] = {k} | {T}[{T} == 0] = {k} | {T}[{T}.argmax(0)] = {k}
torch.cat([{t}], out={T}) | {T}.add_({t}.double()) | {T}[0] = 1e-8 | {T}.gt_({k}) | setattr({T}, "data", {t})
torch.asarray({T}.numpy()).neg_() | {T}.mul_({t}.half())
{T} **= 2 | {T} /= {k} | {T}.copy_({T}.abs() + 1) | {T}.uniform_(min({n}, {k}), max({n}, {k})) | {T}.normal_()
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

v{i} = {t}.abs() + 1
later{i} = (v{i} + {k} for _ in range(1))
v{i} = {u}
v{i} = next(later{i})

v{i} = {t}.abs() + 1
later{i} = (z + v{i} for z in [{k}, {j}])
v{i}.mul_({k})
v{i} = sum(later{i})

class C{i}:
    def __enter__(self):
        return self
    def __exit__(self, *a):
        return {n} > {k}
v{i} = {t}.abs() + 1
try:
    with C{i}():
        v{i} = {u}
        if {test}:
            raise ValueError
        v{i} = v{i}.abs() + 1
except ValueError:
    v{i} = {t}.abs() + 1

@functools.lru_cache
def g{i}(k):
    return torch.ones(3) * k
g{i}({k}).add_({j})
v{i} = g{i}({k})

b{i} = [{n}, {m}]
v{i} = {t}.abs() + 1
if {n} > {k}:
    del b{i}[0]
    v{i} = v{i} * len(b{i})
    del b{i}[:]
    v{i} = v{i} + {k} * len(b{i})

b{i} = 0
if {t}.shape[b{i}] > 1:
    b{i} = -1
v{i} = {t}.abs() + {t}.shape[b{i}] - 1

def g{i}(p, q):
    if (p > 0).all():
        q.mul_({k})
        return p
    return p.abs() + 1
v{i} = g{i}({T}, {T})

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

v{i} = {t}.abs() + 1
with torch.no_grad():
    v{i}.mul_({k})

class C{i}:
    n = 1
    @classmethod
    def reset(cls):
        cls.n = {k}
    def f(self, z):
        self.reset()
        return z.abs() + self.n
v{i} = C{i}().f({t})

class C{i}:
    n = torch.ones(3)
    def reset(self):
        type(self).n = torch.tensor({k})
o{i} = C{i}()
o{i}.reset()
v{i} = C{i}.n.abs() + o{i}.n.abs()

class C{i}:
    n = 1
o{i} = C{i}()
C{i}.n = {k}
v{i} = {t}.abs() + o{i}.n

class C{i}:
    n = 1
o{i} = C{i}()
setattr(o{i}, "n", {k})
v{i} = {t}.abs() + getattr(o{i}, "n")

class C{i}:
    def __init__(self, z):
        self.z = z
    def __enter__(self):
        self.z.mul_({k})
        return self
    def __exit__(self, *a):
        self.z.sub_({j})
v{i} = {t}.abs() + 1
with C{i}(v{i}) as c{i}:
    v{i} = v{i} * 1

class C{i}:
    def __init__(self, z):
        self.z = z
    def __call__(self, k):
        self.z.mul_(k)
v{i} = {t}.abs() + 1
g{i} = C{i}(v{i})
g{i}({k})

class C{i}:
    def __init__(self, z):
        self.z = z.abs() + 1
    def __iadd__(self, k):
        self.z = self.z * k
        return self
    @property
    def half(self):
        return self.z / 2
o{i} = C{i}({t})
o{i} += {k}
v{i} = o{i}.half

@dataclasses.dataclass
class C{i}:
    z: torch.Tensor
    k: float = 1
    def scaled(self):
        return self.z.abs() + self.k
v{i} = C{i}({t}, {k}).scaled()

@dataclasses.dataclass
class C{i}:
    z: torch.Tensor
v{i} = {t}.abs() + 1
o{i} = C{i}(v{i})
o{i}.z.mul_({k})

P{i} = collections.namedtuple("P{i}", "a b")
v{i} = {t}.abs() + 1
p{i} = P{i}(v{i}, {u})
p{i}.a.mul_({k})

v{i} = {t}.abs() + 1
g{i} = v{i}.mul_
g{i}({k})

v{i} = {t}.abs() + 1
g{i} = functools.partial(torch.mul, v{i}, out=v{i})
g{i}({k})

def g{i}():
    z = {t}.abs() + 1
    def h():
        nonlocal z
        z = z * {k}
    h()
    return z
v{i} = g{i}()

def g{i}(k):
    def h(z):
        return z.abs() + k
    return h
v{i} = g{i}({k})({t})

def g{i}(*zs):
    zs[0].mul_({k})
    return zs[0]
v{i} = {t}.abs() + 1
g{i}(v{i}, {u})

def g{i}(z, **kept):
    kept["out"].mul_({k})
v{i} = {t}.abs() + 1
g{i}({u}, out=v{i})

v{i} = {t}.abs() + 1
a{i}, *b{i} = {u}, v{i}
b{i}[0].mul_({k})

v{i} = {t}.abs() + 1
try:
    {write}
finally:
    v{i} = v{i} * {k}

v{i} = {t}.abs() + 1
try:
    v{i} = v{i} - {k}
    v{i} = v{i} / len([])
except ZeroDivisionError:
    v{i} = v{i} * {j}
else:
    v{i} = {t}.abs() + 2

v{i} = {t}.abs() + 1
count{i} = 3
while count{i}:
    count{i} -= 1
    if count{i} == 1:
        continue
    v{i} = v{i} - {k}
else:
    v{i} = v{i} * {j}

v{i} = {t}.abs() + 1
match {n}:
    case 0 | 1:
        v{i} = v{i} * {k}
    case float() if {n} > {k}:
        v{i} = {u}
    case _:
        {write}

v{i} = {t}.abs() + 1
match ({u}.clone(), v{i}):
    case (a{i}, b{i}):
        b{i}.mul_({k})

v{i} = {t}.abs() + 1
d{i} = {{"a": v{i}, "b": {u}.clone()}}
for z in d{i}.values():
    z.mul_({k})

v{i} = {t}.abs() + 1
d{i} = {{"a": v{i}, "b": {u}.clone()}}
d{i}["a" if {n} > {k} else "b"].mul_({k})

d{i} = {{"a": {t}.abs() + 1}}
d{i}.update(a={u})
v{i} = d{i}["a"]

d{i} = {{"a": {t}.abs() + 1, **{{"a": {u}}}}}
v{i} = d{i}.pop("a")

v{i} = {t}.abs() + 1
v{i}[:, 0], b{i} = {k}, 1

v{i} = {t}.abs() + 1
for b{i} in v{i}:
    b{i}.mul_({k})

v{i} = {t}.abs() + 1
for a{i}, b{i} in zip([v{i}], [{u}]):
    a{i}.mul_({k})

v{i} = ({t}.abs() + 1 if {test} else {u})

v{i} = {t}.abs() + 1
assert (v{i} > 0).all()
{write}

v{i} = {t}.clone()
if (v{i} > 0).all():
    {write}
    v{i} = 1 / v{i}

if (w{i} := {t}.abs() + {k}).sum() > 0:
    w{i} = w{i} * {j}
v{i} = w{i}

v{i} = {t}.abs() + 1
exec("v{i}.mul_({k})", {{"v{i}": v{i}}})

v{i} = {t}.abs() + 1
list(map(lambda z: z.mul_({k}), [v{i}]))

v{i} = {t}.abs() + 1
(v{i} if {n} else {u}.clone()).mul_({k})

v{i} = {t}[{t} > {k}].fill_(2.0)

v{i} = {t}.abs() + 1
if {test}:
    v{i} = v{i}[v{i} > 2]

v{i} = torch.empty_like({t})
v{i}[:2] = {t}[:2].abs() + 1
v{i}[2:] = {k}

v{i} = torch.zeros(3)
for j{i} in range(2):
    v{i}[j{i}] = {k} + 1

b{i} = [{t}.abs() + 1 for _ in range(2)]
b{i}[-1] *= {k}
v{i} = b{i}[1]

b{i} = []
for z in ({t}, {u}):
    b{i}.append(z.abs() + {k})
v{i} = b{i}[-1] + b{i}[0]

w{i} = torch.nn.Linear(4, 4)
v{i} = w{i}({t}).detach().abs() + {k}

w{i} = torch.nn.Sequential(torch.nn.Softplus(), torch.nn.Threshold({k}, {j}))
v{i} = w{i}({t}) + 1

class M{i}(torch.nn.Module):
    def __init__(self, k=1.0):
        super().__init__()
        self.k = k
        self.register_buffer("b", torch.ones(1))
    def forward(self, z):
        self.b.mul_({k})
        return z.abs() * self.k + self.b
m{i} = M{i}({j})
v{i} = m{i}({t})

v{i} = {t}.abs() + 1
for step in range(3):
    try:
        if step == 1:
            break
        v{i} = v{i} + 1
    finally:
        v{i} = v{i} * {k}

v{i} = {t}.abs() + 1
for step in range(2):
    try:
        if {test}:
            continue
        v{i} = v{i} + 1
    finally:
        v{i}.mul_({k})

def g{i}(z):
    try:
        return z
    finally:
        z.mul_({k})
v{i} = g{i}({t}.abs() + 1)

def g{i}(z):
    for step in range(2):
        try:
            if step == 0:
                return z.abs() + 1
        finally:
            return z.abs() + {k}
v{i} = g{i}({t})

@dataclasses.dataclass
class C{i}:
    z: torch.Tensor = dataclasses.field(default_factory=lambda: torch.ones(3))
    def shifted(self):
        return self.z.abs() + {k}
v{i} = C{i}({t}).shifted()

v{i} = {t}.half().new_full((3,), abs({k}) / 1e5 + 1e-9)

v{i} = ({t}.abs() + 1e-9).type("torch.HalfTensor")

v{i} = {t}.to(torch.int64).new_tensor(abs({k}) + 0.5)

@contextlib.contextmanager
def g{i}(z):
    yield z
    z.mul_({k})
v{i} = {t}.abs() + 1
with g{i}(v{i}) as w{i}:
    w{i}.add_(1)

v{i} = {t}.abs() + 1
with contextlib.ExitStack() as s{i}:
    s{i}.callback(v{i}.mul_, {k})

v{i} = {t}.abs() + 1
b{i} = functools.reduce(lambda a, z: a.mul_(z), [{k}, {j}], v{i})

def g{i}(z, d):
    z.sub_({k})
    return z if d == 0 else g{i}(z, d - 1)
v{i} = {t}.abs() + 1
g{i}(v{i}, 1)

v{i} = {t}.abs() + 1
c{i} = []
c{i}.append(v{i}.mul_)
for a{i} in c{i}:
    a{i}({k})

v{i} = {t}.abs() + 1
b{i} = list([v{i}])
b{i}[0].mul_({k})

v{i} = {t}.abs() + 1
b{i} = tuple(z for z in (v{i}, {u}))
b{i}[0].mul_({k})

v{i} = {t}.abs() + 1
b{i} = {{**{{"a": v{i}}}}}
b{i}["a"].mul_({k})

v{i} = {t}.abs() + 1
v{i}[::2].mul_({k})

v{i} = {t}.abs() + 1
v{i}.view(2, -1)[0].copy_({u}.reshape(2, -1)[0])

v{i} = {t}.abs() + 1
torch.nn.init.constant_(v{i}, {k})

v{i} = {t}.detach().abs() + 1
a{i} = v{i}.numpy()
np.multiply(a{i}, {k}, out=a{i})

v{i} = {t}.detach().abs() + 1
a{i} = v{i}.numpy()
a{i}.T[0] = {k}

v{i} = {t}.detach().abs() + 1
a{i} = np.asarray(v{i})
a{i}.fill({k})

v{i} = {t}.abs() + 1
sorted([v{i}, {u}.clone()], key=lambda z: z.sum().item())[0].mul_({k})

v{i} = {t}.abs() + 1
max(v{i}, {u}.clone(), key=lambda z: z.sum().item()).mul_({k})

class C{i}:
    def __init__(self, z):
        self.kept = z
    @property
    def z(self):
        return self.kept
    @z.setter
    def z(self, new):
        self.kept = new * {k}
o{i} = C{i}({t})
o{i}.z = {u}.abs() + 1
v{i} = o{i}.z

class C{i}:
    def __init__(self, z):
        self.z = z
    def __setitem__(self, at, new):
        self.z[at] = new * {k}
    def __iter__(self):
        return iter([self.z])
v{i} = {t}.abs() + 1
o{i} = C{i}(v{i})
o{i}[0] = 1.0
for b{i} in o{i}:
    b{i}.add_({j})

class B{i}:
    def step(self, z):
        return z.mul_({k})
class C{i}(B{i}):
    def step(self, z):
        super().step(z)
        return z.abs() + 1
v{i} = {t}.abs() + 1
b{i} = C{i}().step(v{i})

class C{i}:
    count = 0
    def __init__(self):
        C{i}.count += 1
C{i}()
v{i} = {t}.abs() + C{i}.count - 1

class C{i}:
    def __init__(self, n):
        self.n = max(n, 1)
        self.calls = [self.drop]
    def drop(self):
        self.n = {k}
    def f(self, z):
        if self.n > 0:
            for call in self.calls:
                call()
            return z.abs() + self.n
        return z.abs() + 2
v{i} = C{i}({n}).f({t})

v{i} = {t}.abs() + 1
for step in range(3):
    try:
        v{i} = v{i} / (step - 1 if {n} is None else len([0] * step))
    except ZeroDivisionError:
        v{i} = v{i} * {k}
        continue
    else:
        v{i} = v{i} + {j}

v{i} = {t}.abs() + 1
{n} > {k} and v{i}.mul_({j})

v{i} = {t}.abs() + 1
any(z.mul_({k}) is None for z in [v{i}])

v{i} = torch.vmap(lambda row: row.abs() + {k})({t})

v{i} = {t}.abs() + 1
for a{i}, b{i} in itertools.zip_longest([v{i}], [{u}, {t}], fillvalue=v{i}):
    a{i}.mul_({k})

b{i} = list(itertools.accumulate([{k}, {j}, {n}], initial=1))
v{i} = {t}.abs() + b{i}[-1]

v{i} = {t}.abs() + 1
for b{i} in itertools.chain([{u}.clone()], [v{i}]):
    b{i}.mul_({k})

g{i} = operator.methodcaller("mul_", {k})
v{i} = {t}.abs() + 1
g{i}(v{i})

g{i} = operator.attrgetter("data")
v{i} = {t}.abs() + 1
g{i}(v{i}).mul_({k})

async def g{i}(z):
    z.mul_({k})
    return z
v{i} = {t}.abs() + 1
try:
    g{i}(v{i}).send(None)
except StopIteration:
    v{i} = v{i} + {j}

class F{i}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z):
        return z.abs() + {k}
    @staticmethod
    def backward(ctx, gradient):
        return gradient
v{i} = F{i}.apply({t})

v{i} = round(abs({n}) + 0.1, 1)

v{i} = torch.tensor(round(abs({n}) + 0.1, 0)) + {t}.abs()

def h{i}(z):
    z.mul_({k})
def g{i}(z):
    h{i}(z)
    return z.abs() + 1
v{i} = {t}.abs() + 1
b{i} = g{i}(v{i})

def h{i}(z, w):
    w.mul_({k})
def g{i}(*zs):
    h{i}(*zs)
v{i} = {t}.abs() + 1
g{i}({u}, v{i})

def h{i}(z):
    z.mul_({k})
v{i} = {t}.abs() + 1
b{i} = {t}.abs() + 1
for step in range(3):
    b{i} = b{i} + 1 / v{i}
    h{i}(v{i})
v{i} = v{i} + 0 * b{i}

class C{i}:
    def __init__(self, z):
        self.z = z
    def shrink(self, w):
        w.mul_({k})
    def go(self):
        self.shrink(self.z)
v{i} = {t}.abs() + 1
o{i} = C{i}(v{i})
o{i}.go()
b{i} = o{i}.z

def h{i}(zs):
    for z in zs:
        z.mul_({k})
def g{i}(z):
    def inner(w):
        h{i}([w])
    inner(z)
    return 1
v{i} = {t}.abs() + 1
g{i}(v{i})

def h{i}(d, z):
    d["a"] = z
def g{i}(d, z):
    h{i}(d, z)
    return z
d{i} = {{"a": {t}.abs() + 1}}
g{i}(d{i}, {u})
v{i} = d{i}["a"]

def h{i}(o):
    o.e = {k}
class C{i}:
    def __init__(self, e):
        self.e = e
    def alter(self):
        h{i}(self)
    def f(self, z):
        if self.e > 0:
            self.alter()
            return z.abs() + self.e
        return z.abs() + 1
v{i} = C{i}({n}).f({t})

class C{i}:
    def __init__(self, e):
        self.e = e
    def drop(self):
        self.e = {k}
def h{i}(o):
    o.drop()
o{i} = C{i}({n})
if o{i}.e > 0:
    h{i}(o{i})
v{i} = {t}.abs() + o{i}.e

class C{i}:
    def __init__(self, z):
        self.z = z.abs() + 1
        self.zs = [self.z]
    def go(self):
        for z in self.zs:
            z.mul_({k})
o{i} = C{i}({t})
o{i}.go()
v{i} = o{i}.z

def g{i}(z):
    if z.sum() > {k}:
        return z.abs() + 1
v{i} = g{i}({t})
if v{i} is None:
    v{i} = {u}

e{i} = None
if {n} > {k}:
    e{i} = 1.0
v{i} = {t}.abs() + (e{i} if e{i} else {j})

v{i} = {t}.abs() + 1
try:
    try:
        raise ValueError
    finally:
        v{i} = v{i} * {k}
except ValueError:
    pass

e{i} = 1
b{i} = [lambda: e{i} for e{i} in (1, {k})]
v{i} = {t}.abs() + b{i}[0]()

@functools.singledispatch
def g{i}(z):
    return 1
@g{i}.register
def _(z: torch.Tensor):
    return z.abs() + {k}
v{i} = {t} * 0 + g{i}({t})

class C{i}:
    def __init__(self, z):
        self.zs = {{"a": z}}
    def __getitem__(self, name):
        return self.zs[name]
    def __iter__(self):
        yield from self.zs.values()
v{i} = {t}.abs() + 1
C{i}(v{i})["a"].mul_({k})
for z in C{i}(v{i}):
    z.sub_({j})

class C{i}:
    def __init__(self, z):
        self.z = z
    def __enter__(self):
        return self.z
    def __exit__(self, *a):
        pass
v{i} = {t}.abs() + 1
with C{i}(v{i}) as w{i}:
    w{i}.mul_({k})

v{i} = {t}[{t} > 0.5]
w{i} = v{i}.clamp(max=2)
v{i}.flatten().neg_()
v{i}.copy_(w{i})

class C{i}:
    def __init__(self, *zs, **named):
        self.zs, self.named = zs, named
    def go(self):
        for z in (*self.zs, *self.named.values()):
            z.mul_({k})
v{i} = {t}.abs() + 1
C{i}({u}.clone(), out=v{i}).go()

class C{i}:
    def __init__(self, z):
        self.z = z
    def go(self):
        w = self.z.view(-1)
        w.mul_({k})
v{i} = {t}.abs() + 1
o{i} = C{i}(v{i})
o{i}.go()

class C{i}:
    def __init__(self, z):
        self.kept = {{"z": z}}
    def __getattr__(self, name):
        return self.kept[name]
v{i} = {t}.abs() + 1
C{i}(v{i}).z.mul_({k})

class C{i}(dict):
    __getattr__ = dict.__getitem__
v{i} = {t}.abs() + 1
C{i}(z=v{i}).z.mul_({k})

class C{i}:
    def __init__(self, z):
        self.z = z
    def __str__(self):
        self.z.mul_({k})
        return ""
v{i} = {t}.abs() + 1
b{i} = f"{{C{i}(v{i})}}"

v{i} = {t}.abs() + 1
dict([("a", v{i})])["a"].mul_({k})

v{i} = {t}.abs() + 1
([v{i}] * 2)[1].mul_({k})

v{i} = {t}.abs() + 1
for z in {{v{i}}}:
    z.mul_({k})

v{i} = {t}.abs() + 1
def g{i}(z=v{i}, e={k}):
    z.mul_(e)
g{i}(e={j})

def g{i}(z):
    def h():
        z.mul_({k})
    return h
v{i} = {t}.abs() + 1
g{i}(v{i})()

b{i} = [{t}.abs() + 1]
c{i} = b{i}
c{i} += [{u}]
c{i}.pop(0)
v{i} = b{i}[0]

v{i} = torch.stack([{t}[{u}[:, 0] > {k}].abs() + 1] * 2).sum({d})

v{i} = ({t}[{u}[:, 0] > {k}].abs() + 1 + {w}[:1]).sum({d})

v{i} = ({t}[:, {u}[0] > {k}].abs() + 1).sum({d})

v{i} = ({t}[{u}[:, 0] > {k}].abs() + 1)[None].sum({d})

v{i} = ({t}[{u}[:, 0] > {k}].abs() + 1)[:, :2].sum({d})

v{i} = ({t}[{u} > {k}].abs() + 1).reshape(1, -1).sum({d})

v{i} = ({t}[{t} > {k}].abs() + 1)[:3].sum()

v{i} = ({t}[..., {u}[0] > {k}].abs() + 1).flatten(1).sum({d})

v{i} = (torch.nonzero({t} > {k}) + 1).sum({d})

v{i} = ({u}[{t}[:, 0].argsort()[{t}[:, 0] > {k}]].abs() + 1).sum({d})

v{i} = ({t}[{u}[:, 0] > {k}].abs() + 1).sort(0)[0].sum({d})

v{i} = torch.cat([z[z > {k}] for z in ({t}, {u})]).abs().add(1).sum()

v{i} = ({t}[{u}[:, 0] > {k}].softmax({d}) + 1e-3).sum({d})

v{i} = ({t}[{u}[:, 0] > {k}].abs() + 1).norm(dim={d})

v{i} = ({t}[{u}[:, 0] > {k}].abs() + 1).chunk(2, 1)[0].sum({d})

v{i} = ({t}[{u}[:, 0] > {k}].abs() + 1).sum({d}, keepdim=True).sum({d})

v{i} = ({t}[{u}[:, 0] > {k}].abs() + 1).sum({d}).sum()

v{i} = {t}.abs() + 1
for step in range(3):
    if v{i}.min() < {k}:
        break
    v{i}[step] = v{i}[step] - {j}

v{i} = {t}.clone()
m{i} = v{i} > {k}
v{i}[~m{i}] = {j}

v{i} = {t}.clone()
m{i} = v{i} > {k}
{write}
v{i} = torch.where(m{i}, v{i}, 1.0)

v{i} = torch.where({t} > {k}, {t}, {u}).masked_fill({t} <= {k}, {j})

class C{i}:
    scale = {k}
    def __init__(self, scale=None):
        if scale is not None:
            self.scale = scale
    def f(self, z, shift=None):
        shift = self.scale if shift is None else shift
        return z.abs() + shift
v{i} = C{i}({j}).f({t})

@dataclasses.dataclass
class C{i}:
    eps: float = {k}
    on: bool = True
    def __post_init__(self):
        if self.on:
            self.eps = abs(self.eps) + {j}
c{i} = C{i}(on={n} > {k})
v{i} = {t}.abs() + c{i}.eps

@dataclasses.dataclass(frozen=True)
class C{i}:
    eps: float = 1.0
c{i} = dataclasses.replace(C{i}(), eps={k})
v{i} = {t}.abs() + c{i}.eps

def g{i}(z, eps=None, reduce="sum"):
    eps = 1.0 if eps is None else eps
    z = z.abs() + eps
    return z.sum() if reduce == "sum" else z - {j} if reduce == "none" else z.mean()
v{i} = g{i}({t}, reduce="none" if {n} > {k} else "sum")

v{i} = {t}.abs() + 1
w{i} = v{i}.T
w{i}[0] = {k}
v{i} = v{i}.contiguous()

v{i} = ({t}.abs() + {k}).double().half().float()

v{i} = ({t}.abs() + 1e-6).to({u}.half().dtype)

class M{i}(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Softplus()
        self.register_buffer("count", torch.zeros(()))
    def update(self, z):
        self.count += z.numel() * 0 + {k}
        return self.count
    def forward(self, z):
        self.update(z)
        return self.inner(z) + self.count
v{i} = M{i}()({t})

class C{i}:
    def __init__(self, z):
        self.z = z
    def get(self):
        return self.z
o{i} = C{i}({t}.abs() + 1)
b{i} = 1 / o{i}.get()
o{i}.z = {u}
v{i} = o{i}.get()

class C{i}:
    def __init__(self, e):
        self.e = e
    @property
    def double(self):
        return self.e * 2
    @double.setter
    def double(self, e):
        self.e = e * {k}
o{i} = C{i}({n})
v{i} = {t}.abs() + 1
if o{i}.double > 0:
    v{i} = v{i} / o{i}.double
    o{i}.double = {j}
    v{i} = {t}.abs() + o{i}.double

def g{i}(z, e):
    return z.abs() + e
v{i} = {t}.abs() + 1
if {n} > 0:
    v{i} = v{i} + g{i}({t}, {n})
v{i} = v{i} * 0 + g{i}({t}, {n})

v{i} = torch.where({u} > {k}, {t} > {j}, {k})

v{i} = ({t} > {k}).float().clamp({j}, 2) + ({u} > {k})

v{i} = {t}.long().clamp(min={k})

v{i} = torch.where({t} > {k}, float("nan"), {t})
v{i} = v{i} ** 2 + {j}
v{i} = torch.nan_to_num(v{i}, {k})

b{i} = {t} - {u}
v{i} = {u} - {t}
if (b{i} > {k}).all():
    v{i} = {u} - {t}
else:
    v{i} = {u}.clone()

b{i} = {n} - {k}
v{i} = {t}.abs() + 1
if b{i} > 0:
    v{i} = {t}.abs() + ({k} - {n})

a{i} = np.abs({t}.detach().numpy()) + 1
if {n} > {k}:
    a{i} = {j}
v{i} = {t}.abs() * 0 + torch.as_tensor(a{i})

a{i} = float(np.std({t}.detach().numpy()))
if a{i} < 1e-8:
    a{i} = abs({k}) + 1e-8
v{i} = {t}.abs() + a{i}

b{i} = [{t}.abs() + 1] * 2
b{i}[0] = {u}
v{i} = torch.stack(b{i}).sum({d})

class B{i}:
    def hook(self):
        pass
    def go(self, z):
        self.e = 1
        self.hook()
        return z.abs() + self.e
class C{i}(B{i}):
    def hook(self):
        self.e = {k}
v{i} = C{i}().go({t})

class C{i}:
    def __init__(self, z):
        self.first, self.second = z, z.view(-1)
    def go(self):
        self.second.mul_({k})
        return self.first
v{i} = C{i}({t}.abs() + 1).go()

d{i} = collections.defaultdict(list, a={t}.abs() + 1)
v{i} = d{i}["a"]
d{i}["a"].mul_({k})

v{i} = {t}.abs() + 1
collections.ChainMap({{"a": v{i}}})["a"].mul_({k})

v{i} = {t}.abs() + 1
d{i} = collections.defaultdict(dict)
d{i}["a"]["b"] = v{i}
for z in d{i}["a"].values():
    z.mul_({k})

v{i} = {t}.abs() + 1
d{i} = collections.defaultdict(dict)
d{i}["a"][{n}] = v{i}
for z in d{i}["a"]:
    d{i}["a"][z].mul_({k})

v{i} = {t}.abs() + 1
d{i} = collections.defaultdict(list)
d{i}["b"] = v{i}
if (v{i} > 0).all():
    d{i}["b"][0] = {k}

v{i} = ({t}.abs() + 1).max({d})[-1]

v{i} = ({t}.abs() + 1).sort({d})[{n} > 0]

v{i} = list(({t}.abs() + 1).topk(2))[{n} > 0]

for b{i} in ({t}.abs() + 1).median({d}):
    v{i} = b{i}

v{i} = ({t}.abs() + 1).cummax(0)[1]

v{i} = {t}.abs() + 1
torch.special.i0e({t}, out=v{i})

v{i} = {t}.abs() + 1
F.feature_alpha_dropout(v{i}, inplace=True)

v{i} = {t}.abs() + 1
b{i} = torch.eq({t}, {u}, out=v{i})

v{i} = ({t}.abs() + 1).view(torch.int16)

v{i} = {t}.abs() + 1
v{i}.view(torch.int16).mul_({k})

v{i} = torch.prod({t}[{t} > 0.5].abs() + 1) - 1

v{i} = {t}.clone().clamp_(min=1)
p{i} = torch.nn.ParameterDict({{"a": v{i}}})
p{i}["a"].data.mul_({k})
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


# What the turns of a loop hand on to one another: `{p}` and `{q}` are two of its three names.
CARRIED = """
{k} | 1 | 5 | 1.0 | {n} | torch.tensor(2.0) | torch.ones(4) | {t}.abs() + 1 | {t}.clone()
"""

STEPS = """
{p} = {q} | {p} = -{p} | {p} = {p} - 1 | {p} -= {j} | {p} += 1 | {p} = {q} + {k} | {p} = {k} - {j} * {p} | {p} *= 0.5
{p} = {p} * {q} | {p}, {q} = {q}, {p} | {p} = abs({q}) | {p} = {k} if turn > 1 else {p} | {p} = {q} - turn | {p} **= 2
{p} += abs({q}) | {p} -= turn | {p} = {p} / 2 - 1 | held[0], {p} = {p}, held[0] | {p} = held[-1] | held[0] = {q}
held = [{p}, *held] | held.append({p}) | {p} = held.pop() | put(held, {q}) | put({p}, turn) | {p} = {t}.square().sum()
{p} = torch.maximum(torch.as_tensor({p}), torch.as_tensor({q})) | {p} = torch.as_tensor({q}) + 1
"""

UNDER = """
turn > 1 | turn == 0 | torch.as_tensor({q}).sum() > {k} | turn % 2 | {q} is held[0] | torch.as_tensor({p}).sum() <= {j}
"""


def parts(text: str) -> list[str]:
    """The templates of a table, which `|` and line ends part."""
    return [part.strip() for line in text.strip().splitlines() for part in line.split(" | ")]


def blocks(text: str) -> list[str]:
    """The templates of several lines, which blank lines part."""
    return [block.strip("\n") for block in text.strip().split("\n\n")]
