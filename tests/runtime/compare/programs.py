"""Programs that do not repeat themselves: the marked expression is where two runs part, and why."""

HEAD = """\
import datetime, os, random, time, uuid
import numpy as np
import torch, torch.nn as nn, torch.nn.functional as F
"""

AGAIN = {
    "unseeded_initialisation": """
model = nn.Linear(8, 8)  # <- nn.Linear(8, 8) | seed
model(torch.ones(2, 8)).sum().backward()
""",
    "unseeded_dropout": """
h = torch.ones(4, 8, requires_grad=True) * 2
y = F.dropout(h, 0.5)  # <- F.dropout(h, 0.5) | seed
y.sum().backward()
""",
    "unseeded_shuffle": """
data = torch.utils.data.TensorDataset(torch.arange(32.0))
loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)
for (x,) in loader:  # <- loader | seed
    x.mul(2)
""",
    "workers_draw_from_numpy": """
class Noise(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return np.random.rand(3)
loader = torch.utils.data.DataLoader(Noise(), num_workers=1)
for x in loader:  # <- loader | seed
    x.mul(2)
""",
    "numpy_noise": """
x = torch.from_numpy(np.random.randn(8))  # <- torch.from_numpy(np.random.randn(8)) | seed
y = x * 2
""",
    "numpy_permutation": """
chosen = np.random.permutation(64)
order = torch.from_numpy(chosen)  # <- torch.from_numpy(chosen) | seed
y = torch.arange(64.0)[order]
""",
    "python_number": """
x = torch.ones(4)
y = x * random.random()  # <- x * random.random() | seed
""",
    "random_crop": """
x = torch.arange(100.0).sqrt()
start = random.randrange(50)
crop = x[start : start + 9]
y = crop * 3  # <- crop * 3 | seed
""",
    "negative_samples": """
table = torch.arange(1000.0)
chosen = random.sample(range(1000), 5)
index = torch.tensor(chosen)  # <- torch.tensor(chosen) | seed
table[index].sum()
""",
    "layers_in_random_order": """
steps = [torch.tanh, torch.exp, torch.sqrt, torch.square, torch.sigmoid, torch.atan, torch.log1p, torch.sinh]
random.shuffle(steps)
x = torch.full((4,), 0.3)
for step in steps:
    x = step(x)  # <- step(x) | seed
""",
    "seed_from_clock": """
torch.manual_seed(time.time_ns() % 2**31)
x = torch.randn(8)  # <- torch.randn(8) | clock
""",
    "scale_from_date": """
scale = datetime.datetime.now().microsecond + 1
x = torch.ones(4) / scale  # <- torch.ones(4) / scale | clock
""",
    "stops_by_the_clock": """
w = torch.ones(4)
start = time.perf_counter_ns()
if (time.perf_counter_ns() - start) % 2 or time.time_ns() // 1000 % 977 != 5:
    w = w * (time.perf_counter_ns() % 999_983)  # <- w * (time.perf_counter_ns() % 999_983) | clock
w.sum()
""",
    "seed_from_uuid": """
torch.manual_seed(uuid.uuid4().int % 2**31)
x = torch.rand(8)  # <- torch.rand(8) | entropy
""",
    "fresh_generator_of_numpy": """
noise = np.random.default_rng().normal(size=8)
x = torch.as_tensor(noise)  # <- torch.as_tensor(noise) | entropy
y = x.exp()
""",
    "bytes_of_the_system": """
x = torch.tensor(list(os.urandom(8)))  # <- torch.tensor(list(os.urandom(8))) | entropy
y = x.float().mean()
""",
    "system_random": """
rate = random.SystemRandom().random()
x = torch.ones(4).mul(rate)  # <- torch.ones(4).mul(rate) | entropy
""",
    "seed_from_hash": """
torch.manual_seed(hash("experiment") % 2**31)
x = torch.randn(8)  # <- torch.randn(8) | hash
""",
    "order_of_a_set": """
parts = {name: torch.full((2,), float(index)) for index, name in enumerate("abcdefghijklmnop")}
names = set(parts)
x = torch.cat([parts[name] for name in names])  # <- torch.cat([parts[name] for name in names]) | hash
x.cumsum(0)
""",
    "sum_over_a_set": """
total = torch.zeros(3)
for name in {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota"}:
    total = total * 0.9 + len(name) * 0.1  # <- total * 0.9 + len(name) * 0.1 | hash
total.exp()
""",
    "order_of_files": """
folder = f"/dev/shm/stablelint-{os.getpid()}"
os.makedirs(folder)
names = [str(index) for index in range(24)]
random.SystemRandom().shuffle(names)
for name in names:
    open(f"{folder}/{name}", "w").close()
listed = os.listdir(folder)
for name in listed:
    os.remove(f"{folder}/{name}")
os.rmdir(folder)
x = torch.tensor([float(name) for name in listed])  # <- torch.tensor([float(name) for name in listed]) | files
x.sqrt()
""",
    "uninitialised_memory": """
dirt = np.full(5000, time.time_ns() % 10**9, dtype=np.float32)
del dirt
buffer = torch.empty(5000)
y = buffer + 1  # <- buffer + 1 | memory
""",
    "dropout_left_on": """
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))
with torch.no_grad():
    for parameter in model.parameters():
        parameter.fill_(0.1)
torch.manual_seed(time.time_ns() % 2**31)
with torch.no_grad():
    score = model(torch.ones(2, 8)).sum()  # <- model(torch.ones(2, 8)) | dropout
""",
    "attention_dropout": """
q = torch.linspace(-1, 1, 128).reshape(2, 2, 8, 4)
F.scaled_dot_product_attention(q, q, q, dropout_p=0.3)  # <- F.scaled_dot_product_attention(q, q, q, dropout_p=0.3) | seed
""",
    "layers_in_the_order_of_a_set": """
torch.manual_seed(0)
layers = nn.ModuleDict({name: nn.Linear(3, 3) for name in "abcdefghijkl"})
x = torch.zeros(3)
for name in set(layers):
    x = layers[name](x)  # <- layers[name](x) | hash
x.sum()
""",
    "clock_in_a_worker": """
torch.manual_seed(0)
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return torch.full((3,), float(index)) + time.time_ns() % 999_983
loader = torch.utils.data.DataLoader(Data(), num_workers=1)
for x in loader:  # <- loader | clock
    x.mul(2)
""",
    "number_of_the_process": """
noise = np.random.default_rng(os.getpid()).normal(size=4)
x = torch.from_numpy(noise)  # <- torch.from_numpy(noise) | entropy
x.exp()
""",
    "classes_from_a_listing": """
import pathlib, shutil
root = pathlib.Path(f"/dev/shm/stablelint-classes-{os.getpid()}")
root.mkdir()
names = [f"class{index:02}" for index in range(30)]
random.SystemRandom().shuffle(names)
for name in names:
    (root / name).mkdir()
classes = {path.name: index for index, path in enumerate(root.iterdir())}
shutil.rmtree(root)
numbers = [classes[name] for name in sorted(names)]
F.one_hot(torch.tensor(numbers), 30).sum()  # <- torch.tensor(numbers) | files
""",
    "augments_by_chance": """
torch.manual_seed(0)
x = torch.randn(4, 6)
model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    batch = x.flip(1) if random.random() < 0.5 else x  # <- x.flip(1) | seed
    optimizer.zero_grad()
    model(batch).pow(2).mean().backward()
    optimizer.step()
""",
    "two_causes": """
scale = hash("a") % 1000
x = torch.ones(4) * scale  # <- torch.ones(4) * scale | hash+seed
y = x + torch.randn(4)
""",
}

SAME = {
    "seeded_training": """
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
for step in range(3):
    optimizer.zero_grad()
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step()
""",
    "seeded_loader": """
torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.arange(32.0))
for (x,) in torch.utils.data.DataLoader(data, batch_size=4, shuffle=True):
    x.mul(2)
""",
    "seeded_workers": """
torch.manual_seed(0)
class Noise(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return np.random.rand(3)
for x in torch.utils.data.DataLoader(Noise(), num_workers=2):
    x.mul(2)
""",
    "autocast": """
torch.manual_seed(0)
model = nn.Linear(8, 8)
with torch.autocast("cpu", torch.bfloat16):
    loss = model(torch.randn(4, 8)).float().pow(2).mean()
loss.backward()
""",
    "compiled": """
torch.manual_seed(0)
model = torch.compile(nn.Linear(8, 8), backend="aot_eager")
model(torch.randn(4, 8)).sum().backward()
""",
    "clock_for_a_log": """
torch.manual_seed(0)
start = time.time()
torch.randn(8).sum()
print("took", time.time() - start, uuid.uuid4())
""",
    "sorted_set": """
parts = {name: torch.full((2,), float(index)) for index, name in enumerate("abcdefgh")}
torch.cat([parts[name] for name in sorted(set(parts))])
""",
    "batch_norm_and_momentum": """
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(2):
    optimizer.zero_grad()
    model(torch.randn(2, 1, 6, 6)).mean().backward()
    optimizer.step()
""",
    "recurrent": """
torch.manual_seed(0)
model = nn.LSTM(4, 8, 2, dropout=0.2)
model(torch.randn(5, 2, 4))[0].sum().backward()
""",
    "memory_that_is_filled": """
random.seed(0)
buffer = torch.empty(5000)
buffer[:] = random.random()
buffer.add_(1).sum()
""",
}
