import pytest

from tests.analysis.support import open_
from tests.matchers.support import findings


def _found(layers: str) -> bool:
    return bool(findings("SL616", f"model = nn.Sequential({layers})\n"))


@pytest.mark.parametrize(
    "layers",
    [
        "nn.Linear(784, 256), nn.Linear(128, 10)",
        "nn.Linear(784, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10)",
        "nn.Linear(in_features=4, out_features=8), nn.Linear(in_features=4, out_features=2)",
        "nn.Linear(4, 2 * 8), nn.Tanh(), nn.Linear(8, 1)",
        "nn.Linear(4, 8), nn.BatchNorm1d(4)",
        "nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(4, 2)",
        "nn.Conv2d(3, 32, 3), nn.Conv2d(64, 64, 3)",
        "nn.Conv2d(3, 32, 3), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(64, 64, 3)",
        "nn.Conv2d(3, 32, 3), nn.BatchNorm2d(64)",
        "nn.ConvTranspose2d(8, 16, 2), nn.ConvTranspose2d(8, 3, 2)",
        "nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(4, 2)",
        "*[nn.Linear(4, 8), nn.Linear(4, 2)]",
        "OrderedDict([('a', nn.Linear(4, 8)), ('b', nn.Linear(4, 2))])",
        "torch.nn.Linear(4, 8), torch.nn.Linear(4, 2)",
    ],
)
def test_sizes_that_do_not_fit(layers: str) -> None:
    assert _found(layers)


@pytest.mark.parametrize(
    "layers",
    [
        "nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)",
        "nn.Linear(4, 2 * 8), nn.Linear(16, 1)",
        "nn.Linear(4, n), nn.Linear(8, 1)",
        "nn.Linear(4, 8), nn.Linear(n, 1)",
        "nn.Linear(4, 8), nn.GLU(), nn.Linear(4, 1)",
        "nn.Linear(4, 8), Reshape(4), nn.Linear(4, 1)",
        "nn.Conv2d(3, 32, 3), nn.Flatten(), nn.Linear(288, 10)",
        "nn.Conv2d(3, 32, 3), nn.Linear(28, 10)",
        "nn.Conv2d(3, 32, 3), nn.PixelShuffle(2), nn.Conv2d(8, 8, 3)",
        "nn.Linear(4, 8), nn.AvgPool1d(2), nn.Linear(4, 8)",
        "nn.Linear(4, 8), nn.Unflatten(1, (2, 4)), nn.Conv1d(2, 2, 1)",
        "nn.LazyLinear(8), nn.Linear(8, 2)",
        "*layers",
    ],
)
def test_sizes_that_fit_or_are_not_known(layers: str) -> None:
    assert not _found(layers)


def test_a_layer_that_is_not_followed_has_no_size() -> None:
    code = """
    class Net(nn.Module):
        def __init__(self):
            self.net = nn.Sequential(nn.Linear(1, 64), nn.Linear(64, 1))
        def forward(self, x):
            if not isinstance(x, torch.Tensor):
                x = torch.tensor(x)
            return self.net(x)
    def outer(data):
        def loss(outputs):
            total = 0.0
            for _, value in data.items():
                points = value.get("points")
                if points is not None and outputs is not None:
                    total += torch.mean(torch.square(model(points) - outputs))
            return total
        model = Net()
        return loss
    """
    assert open_(code) == []


def test_a_column_beside_what_lost_its_last_dimension() -> None:
    train = "head = nn.Linear(8, 1)\ndef train(x, y):\n    return F.mse_loss({})\n"
    assert findings("SL618", train.format("head(x), y.squeeze(-1)"))
    assert findings("SL618", train.format("y.squeeze(), head(x)"))
    assert not findings("SL618", train.format("head(x).squeeze(-1), y.squeeze(-1)"))
    assert not findings("SL618", train.format("head(x), y.squeeze(1)"))


RECURRENT = """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(100, {0})
        self.rnn = {1}
        self.out = nn.Linear({2}, 4)
    def forward(self, x):
        steps, state = self.rnn(self.words(x))
        return self.out(steps)
"""


@pytest.mark.parametrize(
    ("given", "layer", "taken", "fits"),
    [
        (32, "nn.LSTM(32, 64)", 64, True),
        (32, "nn.LSTM(64, 64)", 64, False),
        (32, "nn.GRU(input_size=32, hidden_size=64, batch_first=True)", 32, False),
        (32, "nn.GRU(32, 64, bidirectional=True)", 128, True),
        (32, "nn.GRU(32, 64, bidirectional=True)", 64, False),
        (32, "nn.LSTM(32, 64, bidirectional=both)", 64, True),
        (32, "nn.LSTM(32, 64, proj_size=16)", 16, True),
        (32, "nn.RNN(32, 64, 2)", 128, False),
    ],
)
def test_sizes_of_recurrent_layers(given: int, layer: str, taken: int, fits: bool) -> None:
    assert bool(findings("SL616", RECURRENT.format(given, layer, taken))) != fits
