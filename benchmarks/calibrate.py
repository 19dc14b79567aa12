#!/usr/bin/env python3
"""Measures what each fact of a finding weighs, and writes `stablelint/analysis/evidence/weights.json`.

    python benchmarks/calibrate.py collect FACTS --mirrors MIRRORS --unpacked FOLDER [--repairs MORE]
    python benchmarks/calibrate.py fit FACTS [--write]

`collect` runs the analysis over every file that a label of `data/` names, in the tree of its commit (out of the
repositories below MIRRORS, owner+name/repo each; unpacked into FOLDER), and stores the facts of the findings there.
`data/repairs.jsonl` are lines that maintainers repaired, as are MORE; `data/sampled.jsonl` are findings that were drawn,
each read once (`worth` 1 or 0); those that were read as diffs (draw `diffs`) tell of their rules and of the order alone.

`fit` is a logistic regression over the facts. Repairs say which facts speak for a repair, the random sample says how
often one is worth it: the intercept is that of the sample alone. Whole repositories are left out in each of ten folds;
a fact whose weight changes its sign between folds, has not the sign that it is said to have, or does not lower the loss
of what was left out, is reported and dropped. Needs scikit-learn.

A flaw, which the text alone shows, has no operand for the facts to speak of. Its chance starts from that of its rule:
the share of those that were repaired, or drawn and read. What `judgements.jsonl` says of the rule comes before them and
counts as PRIOR rows: its judges asked what is worth a rewrite, of what was once called likely, and how such a share relates
to the chance of a repair is measured over all rules (Platt). What the few facts that tell on flaws add is a second logistic
regression, over that chance, in which no row's own label takes part.
"""

import argparse
import hashlib
import json
import math
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from stablelint.analysis.check import AnalysisOptions, check_source
from stablelint.analysis.evidence.fact import all_facts
from stablelint.analysis.evidence.score import ENOUGH
from stablelint.catalog import load_catalog
from stablelint.diagnostic import RULE, WHOLE, Diagnostic, Level, Passed, Passes
from stablelint.syntax import precision
from stablelint.syntax.relevance import brings_torch

WEIGHTS = Path(__file__).parents[1] / "stablelint/analysis/evidence/weights.json"
JUDGEMENTS = Path(__file__).with_name("judgements.jsonl")
DATA = Path(__file__).with_name("data")
Record = dict[str, Any]


# --- collect -----------------------------------------------------------------------------------------------------------


def unpack(git: Path, commit: str, folder: Path) -> bool:
    """Writes the Python files of a commit below `folder`, once; False where the repository lacks it."""
    if folder.is_dir():
        return True
    command = ["git", f"--git-dir={git}", "archive", commit, "--", ":(glob)**/*.py"]
    archive = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        with tarfile.open(fileobj=archive.stdout, mode="r|") as tar:
            for member in tar:
                if member.isfile():
                    tar.extract(member, folder, filter="data")
    except (tarfile.TarError, OSError):
        return False
    return archive.wait() == 0


@cache
def shown_by_project(root: Path) -> Passes:
    """What the files of a tree show of it as a whole."""
    paths = (str(path) for path in sorted(root.rglob("*.py")) if path.is_file())
    files = {path: Path(path).read_bytes() for path in paths if precision.speaks_for(str(root), path)}
    by_fact = {
        fact: [path for path, data in files.items() if brings_torch(data) and precision.shows(data, fact)]
        for fact in precision.FACTS
    }
    return {(WHOLE, fact): (Passed(paths[0], 1, ""),) for fact, paths in by_fact.items() if paths}


def findings(root: Path, name: str) -> list[Diagnostic]:
    """What the analysis finds in a file by the rules that are on, with the facts that hold of each finding."""
    options, catalog = AnalysisOptions(root=root, level=Level.LIKELY), load_catalog(entry_points=False)
    source, told = (root / name).read_bytes(), shown_by_project(root)
    found = check_source(source, name, catalog, options, told).diagnostics
    return [d for d in found if catalog.rules[d.code].enabled]


def near(found: Diagnostic, line: int) -> bool:
    """Whether a finding spans a line or starts within one line of it."""
    first = found.span.start.row
    return first - 1 <= line <= max(found.span.end.row, first + 1)


def row(found: Diagnostic, label: int, source: str, **place: Any) -> Record:
    """One labelled finding."""
    facts = sorted(reason.fact for reason in found.because)
    return {"label": label, "source": source, **place, "code": found.code, "facts": facts}


def of_repairs(job: tuple[Path, Path, list[Record]]) -> list[Record]:
    """The findings at repaired lines of one commit; a repair without a finding is a row without a code."""
    git, folder, records = job
    if not unpack(git, records[0]["parent"], folder):
        return []
    rows = []
    for name in sorted({r["file"] for r in records}):
        if not (folder / name).exists():
            continue
        found = findings(folder, name)
        for r in (r for r in records if r["file"] == name):
            text = not r["decided_at_run_time"] and r["operand"] == "tensor"
            place = {"repo": r["repo"], "commit": r["parent"], "file": name, "line": r["line"], "text": text}
            hits = [d for d in found if near(d, r["line"])]
            rows += [row(d, 1, "repair", **place) for d in hits]
            if not hits:
                rows.append({"label": 1, "source": "repair", **place, "code": None, "facts": []})
        rows += [
            row(
                d,
                -1,
                "file",
                repo=records[0]["repo"],
                commit=records[0]["parent"],
                file=name,
                line=d.span.start.row,
            )
            for d in found
            if not any(near(d, r["line"]) for r in records if r["file"] == name)
        ]
    return rows


def of_sample(job: tuple[Path, Path, list[Record]]) -> list[Record]:
    """The findings of one commit that were drawn and read; those that are no longer there are left out.

    Of a repository that is not at hand they tell of their rules alone.
    """
    git, folder, records = job
    if not unpack(git, records[0]["commit"], folder):
        own = (r for r in records if r["code"] in flawed())
        return [
            {"label": r["worth"], "source": UNSEEN, "repo": r["repo"], "code": r["code"], "facts": [RULE]}
            for r in own
        ]
    rows = []
    found = {
        name: findings(folder, name) for name in {r["file"] for r in records} if (folder / name).exists()
    }
    for r in (r for r in records if r["file"] in found):
        name = r["file"]
        hits = [d for d in found[name] if d.span.start.row == r["line"] and d.code == r["code"]]
        hits = [d for d in hits if d.span.start.column == r.get("column", d.span.start.column)] or hits[:1]
        if not hits:
            rows.append({"label": r["worth"], "source": "gone", "repo": r["repo"], "code": None, "facts": [],
                         "was": r["code"], "proof": r.get("proof", 0)})  # fmt: skip
        place = {
            "repo": r["repo"],
            "file": name,
            "line": r["line"],
            "weight": r["weight"],
            "draw": r["draw"],
            "was": r["level"],
        }
        rows += [row(d, r["worth"], "sample", **place) for d in hits[:1]]
    return rows


def read(path: Path) -> list[Record]:
    """The records of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text("utf8").splitlines()]


def collect(options: argparse.Namespace) -> None:
    """Stores the facts of all labelled findings."""

    def jobs(paths: list[Path], commit: str) -> list[tuple[Path, Path, list[Record]]]:
        """The labels by the tree in which they stand."""
        trees: dict[tuple[str, str], list[Record]] = defaultdict(list)
        for r in (r for path in paths for r in read(path)):
            trees[r["repo"].replace("/", "+"), r[commit]].append(r)
        return [
            (options.mirrors / slug / "repo", options.unpacked / f"{slug}@{at[:12]}", records)
            for (slug, at), records in sorted(trees.items())
        ]

    repairs = jobs([*options.repairs, DATA / "repairs.jsonl"], "parent")
    sample = jobs([DATA / "sampled.jsonl"], "commit")
    with ProcessPoolExecutor(options.jobs) as pool, options.facts.open("w", encoding="utf8") as out:
        for rows in (*pool.map(of_repairs, repairs, chunksize=4), *pool.map(of_sample, sample)):
            out.writelines(json.dumps(r) + "\n" for r in rows)


# --- fit ---------------------------------------------------------------------------------------------------------------

FOLDS = 10
BY_REPAIRS = ("repair", "file")  # at lines that maintainers repaired, and elsewhere in their files
UNSEEN = "unseen"  # findings that were read, of which no facts are at hand
SOURCES = ("repair", "sample", "file", UNSEEN)  # of rows that the shape is fitted to, and the shares of rules
TO_LEARN = ("tensor", "flaw", "forms", "unread", "diffs")  # draws that stand for no share of all findings
BY_DIFFS = "diffs"  # a draw that was read as diffs of the fix, at most ten of a rule
BY_CONFIDENCE = "strata"  # a draw whose rows stand for as many findings as they say, likely or not
PENALTY = 0.3  # the inverse of the strength of the L2 penalty; chosen by the loss of what was left out
BESIDE = 2.0  # what a finding beside a repair counts; chosen by the order in the files of what was left out
NEUTRAL = 0.001  # of the loss: a fact that makes no more difference stays
AS_DIFF = 2.0  # what a finding that was read as a diff counts; chosen by the order of what was left out


def fold_of(repo: str) -> int:
    """The fold in which a repository is left out."""
    return int(hashlib.sha256(b"fold" + repo.encode()).hexdigest(), 16) % FOLDS


def matrix(rows: list[Record], names: list[str]) -> Any:
    """Facts as columns of 0 and 1."""
    import numpy as np

    place = {name: i for i, name in enumerate(names)}
    table = np.zeros((len(rows), len(names)))
    for i, r in enumerate(rows):
        for fact in r["facts"]:
            if fact in place:
                table[i, place[fact]] = 1.0
    return table


def weights_of_rows(rows: list[Record]) -> list[float]:
    """A repaired line counts once, however many findings stand there."""
    places = Counter((r["repo"], r["file"], r["line"]) for r in rows if r["source"] == "repair")
    whole = {"sample": 1.0, "file": BESIDE, BY_DIFFS: AS_DIFF}
    return [
        whole.get(r.get("draw", r["source"]), whole.get(r["source"]))
        or 1.0 / places[r["repo"], r["file"], r["line"]]
        for r in rows
    ]


def drawn_for(rows: list[Record]) -> list[float]:
    """How many findings each one that was read stands for, as a share of the mean; long weights are cut at 5.

    What the former engine called likely was drawn twice, uniformly and by itself, and both draws share its part of the
    whole; rows that were drawn to learn from them stand for none.
    """
    uniform = [r for r in rows if r["source"] == "sample" and r["draw"] == "uniform"]
    twice = ("uniform", "likely")
    likely = [r for r in rows if r["source"] == "sample" and r["was"] == "likely" and r["draw"] in twice]
    each = sum(r["weight"] for r in uniform if r["was"] == "likely") / max(1, len(likely))
    stands = []
    for r in rows:
        if r["source"] != "sample" or r["draw"] in TO_LEARN:
            stands.append(0.0)
        else:
            shared = r["was"] == "likely" and r["draw"] != BY_CONFIDENCE
            stands.append(each if shared else r["weight"])
    mean = sum(stands) / max(1, sum(w > 0 for w in stands))
    return [min(w / mean, 5.0) for w in stands]


def fitted(rows: list[Record], names: list[str]) -> tuple[float, dict[str, float]]:
    """Intercept and weights.

    The shape comes from repairs against the other findings of the same files and from the sample; slope and intercept
    (Platt, 1999) from the sample alone, which alone tells how often a finding is worth a repair.
    """
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    table = matrix(rows, names)
    labels = np.array([max(r["label"], 0) for r in rows])
    model = LogisticRegression(C=PENALTY, solver="newton-cholesky")
    model.fit(table, labels, sample_weight=weights_of_rows(rows))
    sample = np.array([r["source"] == "sample" for r in rows])
    scores = model.decision_function(table[sample]).reshape(-1, 1)
    stands = np.array(drawn_for(rows))[sample]
    scale = LogisticRegression(C=1.0, max_iter=5000).fit(scores, labels[sample], sample_weight=stands)
    slope = max(float(scale.coef_[0, 0]), 0.2)
    base = slope * float(model.intercept_[0]) + float(scale.intercept_[0])
    return base, {name: slope * float(w) for name, w in zip(names, model.coef_[0], strict=True)}


def scored(rows: list[Record], names: list[str]) -> tuple[list[float], list[dict[str, float]]]:
    """The confidence of each row by the weights of the other folds, and those weights."""
    import numpy as np

    confidences = [0.0] * len(rows)
    every = []
    for fold in range(FOLDS):
        kept = [r for r in rows if fold_of(r["repo"]) != fold and r["source"] in SOURCES and r["code"]]
        base, weights = fitted([r for r in kept if not is_flaw(r)], names)
        every.append(weights)
        flaws = Flaws(kept)
        for i, r in enumerate(rows):
            if fold_of(r["repo"]) == fold:
                odds = odds_of(r, base, weights, flaws)
                confidences[i] = float(1 / (1 + np.exp(-odds)))
    return confidences, every


def odds_of(r: Record, base: float, weights: dict[str, float], flaws: "Flaws") -> float:
    """The log-odds that a row is worth a repair."""
    if is_flaw(r):
        return flaws.odds(r)
    return base + sum(weights.get(fact, 0.0) for fact in r["facts"])


def loss(rows: list[Record], confidences: list[float]) -> float:
    """What of the order is wrong among what was left out: 1 less the area under the curve.

    Of the sample, of the repairs against the other findings of their files, and of what was read as diffs.
    """
    from sklearn.metrics import roc_auc_score

    found = [(r, c) for r, c in zip(rows, confidences, strict=True) if r["code"]]
    every = drawn_for([r for r, _ in found])
    read_one = [(r["label"], c) for (r, c), w in zip(found, every, strict=True) if w]
    files = [(max(r["label"], 0), c) for r, c in found if r["source"] in BY_REPAIRS]
    diffs = [(r["label"], c) for r, c in found if r.get("draw") == BY_DIFFS]
    stands = [w for w in every if w]
    area = float(roc_auc_score(*zip(*read_one, strict=True), sample_weight=stands))
    return 3.0 - area - sum(float(roc_auc_score(*zip(*some, strict=True))) for some in (files, diffs))


PRIOR = 4.0  # rows drawn at random that the judged ones of a rule, or of its family where there are few, stand for
# A test makes mistakes on purpose; what is only read needs few digits, and so does what no gradient is taken of.
ON_FLAWS = (
    *("in_test", "only_read", "no_gradient", "array"),
    *("guards_in_file", "normed", "spread", "shown"),
)


def is_flaw(r: Record) -> bool:
    """Whether a row is of a flaw, which the text alone shows."""
    return RULE in r["facts"]


def flawed() -> list[str]:
    """The rules that can find flaws: those that state no contract of an operand."""
    rules = load_catalog(entry_points=False).rules
    return sorted(code for code, rule in rules.items() if rule.forward is None and rule.backward is None)


@cache
def judgements() -> list[Record]:
    """The judged rows of rules that can find flaws."""
    codes = set(flawed())
    return [r for r in read(JUDGEMENTS) if r["code"] in codes]


class Shares:
    """By rule: the share of its flaws that are worth a change; how many decide on it, how many of those were worth it.

    A repair counts as one that was read and worth it, what stands beside repairs as one that was not.
    """

    def __init__(self, rows: list[Record]) -> None:
        self._judged, self._family = Counter[Any](), Counter[Any]()
        self._drawn, self._repaired = Counter[Any](), Counter[Any]()
        for r in judgements():
            self._judged[r["code"], r["verdict"] != "noise"] += 1
            self._family[r["code"][:3], r["verdict"] != "noise"] += 1
        for r in drawn_flaws(rows, unseen=True):
            self._drawn[r["code"], r["label"] == 1] += 1
        for r in (r for r in rows if r["source"] in BY_REPAIRS and r["code"] and is_flaw(r)):
            self._repaired[r["code"], r["label"] == 1] += 1
        drawn_at_random = [r for r in drawn_flaws(rows) if r["draw"] != BY_DIFFS]
        self._merged = as_drawn(drawn_at_random, self._by_judges)

    def of(self, code: str, without: int | None = None) -> tuple[float, int, int]:
        """The share of a rule; `without` is the label of a row that takes no part."""
        worth = self._drawn[code, True] - (without == 1)
        noise = self._drawn[code, False] - (without == 0)
        share = smoothed(
            worth + self._repaired[code, True],
            noise + self._repaired[code, False],
            self._merged(self._by_judges(code)),
            PRIOR,
        )
        if worth + noise < ENOUGH:  # those that were judged are told of, too
            worth, noise = worth + self._judged[code, True], noise + self._judged[code, False]
        return share, worth + noise, worth

    def _by_judges(self, code: str) -> float:
        of_family = smoothed(self._family[code[:3], True], self._family[code[:3], False], 0.5, 1.0)
        return smoothed(self._judged[code, True], self._judged[code, False], of_family, 3.0)


class Flaws:
    """The log-odds of a flaw: those of its rule, stretched and shifted, and what facts add to them.

    What was read as diffs is of the rules that have a fix, and half of it of what was likely: these rows tell how facts
    divide them, and that they were read so is a column of its own, which no flaw has that is told of.
    """

    def __init__(self, rows: list[Record]) -> None:
        import numpy as np
        from sklearn.linear_model import LogisticRegression

        self.shares = Shares(rows)
        drawn = drawn_flaws(rows)
        shares = Shares([*drawn, *(r for r in rows if r["source"] in BY_REPAIRS)])
        own = [[log_odds(shares.of(r["code"], r["label"])[0]), r["draw"] == BY_DIFFS] for r in drawn]
        labels = [r["label"] for r in drawn]
        table = np.hstack([np.array(own, float), matrix(drawn, list(ON_FLAWS))])
        model = LogisticRegression(C=1.0, max_iter=5000).fit(table, labels)
        self._slope, _, *weights = (float(w) for w in model.coef_[0])
        self._shift = float(model.intercept_[0])
        signs = {fact.name: fact.sign for fact in all_facts()}
        self.weights = {name: w for name, w in zip(ON_FLAWS, weights, strict=True) if w * signs[name] > 0}

    def share(self, code: str) -> tuple[float, int, int]:
        """What a rule's flaws are worth where no fact holds, how many decide on it, and how many of those were worth it."""
        share, *counts = self.shares.of(code)
        return 1 / (1 + math.exp(-self._shift - self._slope * log_odds(share))), *counts

    def odds(self, r: Record) -> float:
        """The log-odds that a flaw is worth a change."""
        return log_odds(self.share(r["code"])[0]) + sum(self.weights.get(fact, 0.0) for fact in r["facts"])


def drawn_flaws(rows: list[Record], unseen: bool = False) -> list[Record]:
    """The flaws among the findings that were read; with `unseen` also those of which no facts are at hand."""
    return [r for r in rows if r["source"] in ("sample", *([UNSEEN] if unseen else [])) and is_flaw(r)]


def as_drawn(drawn: list[Record], by_judges: Callable[[str], float]) -> Callable[[float], float]:
    """What a share of judges, who say what is worth a rewrite, comes to among findings drawn at random (Platt, 1999)."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    odds = np.array([[log_odds(by_judges(r["code"]))] for r in drawn])
    scale = LogisticRegression(C=1.0).fit(odds, [r["label"] for r in drawn])
    return lambda p: float(scale.predict_proba([[log_odds(p)]])[0, 1])


def log_odds(p: float) -> float:
    """The logarithm of the odds of a chance."""
    return math.log(p / (1 - p))


def smoothed(worth: int, noise: int, prior: float, strength: float) -> float:
    """A share of few, drawn towards what is known before (the mean of a Beta distribution)."""
    return (worth + prior * strength) / (worth + noise + strength)


def pruned(rows: list[Record], names: list[str]) -> list[str]:
    """The facts that keep their sign in all folds and without which what was left out is told worse."""
    signs = {fact.name: fact.sign for fact in all_facts()}
    while True:
        _, every = scored(rows, names)
        bad = {
            n: min(w[n] * signs[n] for w in every)
            for n in names
            if min(w[n] * signs[n] for w in every) <= 0.0
        }
        if not bad:
            break
        worst = min(bad, key=bad.__getitem__)
        print(f"  dropped {worst}: weight times expected sign down to {bad[worst]:+.2f} in a fold")
        names = [n for n in names if n != worst]
    best = loss(rows, scored(rows, names)[0])
    for name in list(names):
        rest = [n for n in names if n != name]
        without = loss(rows, scored(rows, rest)[0])
        if without < best - NEUTRAL:
            print(f"  dropped {name}: the loss without it is {best - without:.4f} lower")
            names, best = rest, without
    return names


def reliability(rows: list[Record], confidences: list[float]) -> Iterator[tuple[float, float, float, int]]:
    """By tenth of confidence: its mean, the share that is worth a repair, and how many were read."""
    bins: dict[int, list[tuple[float, int, float]]] = defaultdict(list)
    for r, c, w in zip(rows, confidences, drawn_for(rows), strict=True):
        if w:
            bins[min(9, int(c * 10))].append((c, r["label"], w))
    for tenth, found in sorted(bins.items()):
        stands = sum(w for *_, w in found)
        mean = sum(c * w for c, _, w in found) / stands
        yield tenth / 10, mean, sum(y * w for _, y, w in found) / stands, len(found)


def report(rows: list[Record], confidences: list[float], thresholds: list[float]) -> None:
    """What was left out, scored: the sample's precision and share by threshold, and the repairs told."""
    stands = drawn_for(rows)
    sample = [
        (c, r["label"], w)
        for r, c, w in zip(rows, confidences, stands, strict=True)
        if r["source"] == "sample"
    ]
    every = sum(w for *_, w in sample)
    best: dict[tuple[str, str, int], tuple[float, bool, bool]] = {}
    for r, c in zip(rows, confidences, strict=True):
        if r["source"] == "repair":
            key = r["repo"], r["file"], r["line"]
            known = best.get(key, (0.0, False, r["text"]))
            best[key] = (max(known[0], c if r["code"] else 0.0), known[1] or bool(r["code"]), r["text"])
    text = [b for b in best.values() if b[2]]
    share = sum(y * w for _, y, w in sample) / every
    print(f"sample {len(sample)}, worth {sum(y for _, y, _ in sample)} ({share:.1%} of what they stand for)")
    found, shown = (sum(b[1] for b in part) for part in (best.values(), text))
    print(f"repairs {len(best)}, found {found}; text decides {len(text)}, found {shown}")
    for t in thresholds:
        over = [(y, w) for c, y, w in sample if c >= t]
        stands_for = sum(w for _, w in over)
        worth = sum(y * w for y, w in over) / max(1e-9, stands_for)
        told, told_text = (sum(b[0] >= t for b in part) / max(1, len(part)) for part in (best.values(), text))
        print(
            f"  threshold {t:.3f}: {stands_for / every:5.1%} of the sample, {worth:5.1%} of it worth a repair; "
            f"repairs told {told:5.1%}, where the text decides {told_text:5.1%}"
        )
    order = 3 - loss(rows, confidences)
    print(f"order: areas under the curve of sample, repairs and diffs, summed: {order:.3f}")
    print(f"repairs {first_quarter(rows, confidences)}")
    for low, mean, share, n in reliability(rows, confidences):
        print(f"  said {low:.1f} to {low + 0.1:.1f} (mean {mean:.2f}): {share:5.1%} of {n}")


def first_quarter(rows: list[Record], confidences: list[float]) -> str:
    """How many repaired lines stand in the first quarter of their file's findings, most likely first, then by place."""
    files: dict[tuple[str, str, str], list[tuple[float, int, bool]]] = defaultdict(list)
    for r, c in zip(rows, confidences, strict=True):
        if r["source"] in BY_REPAIRS and r["code"]:
            files[r["repo"], r["commit"], r["file"]].append((-c, r["line"], r["source"] == "repair"))
    ranks = []
    for found in files.values():
        order = [(line, repaired) for _, line, repaired in sorted(found)]
        ranks += [order.index(one) / (len(order) - 1) for one in set(order) if one[1] and len(order) > 3]
    return f"in the first quarter of their file {sum(k <= 0.25 for k in ranks) / max(1, len(ranks)):.0%} of {len(ranks)}"


def fit(options: argparse.Namespace) -> None:
    """Fits, prunes, reports, and writes the weights where that is asked for."""
    rows = read(options.facts)
    names = [fact.name for fact in all_facts()]
    held = Counter(fact for r in rows for fact in r["facts"])
    names = [n for n in names if held[n] >= options.least]
    names = pruned(rows, names)
    confidences, _ = scored(rows, names)
    report(rows, confidences, [0.06, 0.08, 0.1, 0.12, 0.13, 0.132, 0.14, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5])
    kept = [r for r in rows if r["source"] in SOURCES and r["code"]]
    base, weights = fitted([r for r in kept if not is_flaw(r)], names)
    print(f"base {base:+.2f}")
    for name, weight in sorted(weights.items(), key=lambda item: -abs(item[1])):
        print(f"  {weight:+.2f} {name} ({held[name]})")
    flaws = Flaws(kept)
    rates = {code: flaws.share(code) for code in flawed()}
    print("  on flaws", {name: round(w, 2) for name, w in flaws.weights.items()})
    for code, (mean, count, worth) in rates.items():
        print(f"  {code} {mean:.2f} ({worth} of {count})")
    if options.write:
        table = {"base": round(base, 3),
                 "facts": {n: round(w, 3) for n, w in sorted(weights.items())},
                 "flaws": {n: round(w, 3) for n, w in sorted(flaws.weights.items())},
                 "rates": {code: [round(mean, 3), *counts] for code, (mean, *counts) in rates.items()},
                 "unread": round(sum(mean for mean, *_ in rates.values()) / len(rates), 3),
                 "reliability": [[round(v, 3) for v in line] for line in reliability(rows, confidences)]}  # fmt: skip
        WEIGHTS.write_text(json.dumps(table, indent=1) + "\n", encoding="utf8")


def main() -> int:
    """Runs a step."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = parser.add_subparsers(dest="step", required=True)
    one = steps.add_parser("collect")
    one.add_argument("facts", type=Path)
    one.add_argument("--mirrors", type=Path, required=True)
    one.add_argument("--unpacked", type=Path, required=True)
    one.add_argument("--repairs", type=Path, nargs="*", default=())
    one.add_argument("--jobs", type=int, default=2)
    two = steps.add_parser("fit")
    two.add_argument("facts", type=Path)
    two.add_argument("--least", type=int, default=8)
    two.add_argument("--write", action="store_true")
    options = parser.parse_args()
    sys.setrecursionlimit(10000)
    {"collect": collect, "fit": fit}[options.step](options)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
