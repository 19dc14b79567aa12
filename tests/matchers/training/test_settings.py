from tests.matchers.support import findings


def test_anomaly_detection_behind_a_flag() -> None:
    assert (
        findings(
            "SL606", "import os\nif os.environ.get('DEBUG'):\n    torch.autograd.set_detect_anomaly(True)\n"
        )
        == []
    )
    assert findings("SL606", "def f(d: bool):\n    torch.autograd.set_detect_anomaly(d)\n") == []
    line = "with torch.autograd.detect_anomaly():"
    block = f"{line}\n        x.backward()\n"
    assert findings("SL606", f"def f(x, optimizer):\n    {block}    optimizer.step()\n") == [line]
    assert findings("SL606", f"for x in losses:\n    {block}") == [line]
    assert findings("SL606", f"def look(x):\n    {block}") == []
