"""Which columns of a table go where, which settings are refused, what the provenance says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.errors import DataFileError, InputError
from lmprobe.leakage import table as module
from lmprobe.leakage.attackers.mlp import Mlp
from lmprobe.leakage.measure import dataset_leakage, leakage_amplification, model_leakage
from lmprobe.leakage.result import LeakageResult
from lmprobe.leakage.row import Measure, leakage_row
from lmprobe.leakage.settings import LeakageSettings
from lmprobe.leakage.table import _attacker, _names, table_leakage
from lmprobe.results import Interval, Note, NoteKind

EXACT = LeakageSettings(attacker="exact", rounds=2)
RNG = np.random.default_rng(0)
ROWS = 180
FRAME = pd.DataFrame(
    {
        "verb": RNG.choice(["run", "cook", "sit"], ROWS),
        "said": RNG.choice(["run", "cook", "sit"], ROWS),
        "smiles": np.arange(ROWS) // 2 % 2,
        "sings": RNG.integers(0, 2, ROWS),
        "group": ["w", "m"] * (ROWS // 2),
        "part": ["train", "train", "dev", "dev", "test", "test"] * (ROWS // 6),
    }
)
# Scores that are mostly right, so that labels with as many errors can be found.
for name in ("smiles", "sings"):
    FRAME[f"p_{name}"] = 0.4 * FRAME[name] + 0.6 * RNG.random(ROWS)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Note what is measured instead of measuring it."""
    noted: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
    for name in ("dataset_leakage", "model_leakage", "leakage_amplification"):

        def measure(*given: Any, name: str = name, **options: Any) -> LeakageResult:
            noted.append((name, given, options))
            row = leakage_row(
                Measure.DATASET, 0.5, Interval(0.4, 0.6, 0.95, "t"), (0.5, 0.5), chance=0.5
            )
            return LeakageResult((row,), tuple(sorted(set(given[-1]))))

        monkeypatch.setattr(module, name, measure)
    return noted


def test_labels_predictions_or_both(calls: list[Any]) -> None:
    settings = LeakageSettings(rounds=3, share=0.5, confidence=0.9, seed=4, average="micro")
    table_leakage(FRAME, attribute="group", labels=["verb"], settings=settings)
    table_leakage(FRAME, attribute="group", predictions=["said"], settings=settings)
    table_leakage(
        FRAME, attribute="group", labels=["verb"], predictions=["said"], split="part",
        settings=settings,
    )  # fmt: skip
    (first, labels, of_labels), (second, said, _), (third, both, of_both) = calls
    assert [first, second, third] == ["dataset_leakage", "model_leakage", "leakage_amplification"]
    for given, columns in ((labels, ["verb"]), (said, ["said"]), (both, ["verb", "said"])):
        assert [one.tolist() for one in given[:-1]] == [FRAME[name].tolist() for name in columns]
        assert given[-1].tolist() == FRAME["group"].tolist()
    assert (of_labels["split"], of_labels["at"], of_labels["average"]) == (None, None, "micro")
    assert of_both["split"].tolist() == FRAME["part"].tolist()
    shared = {name: of_both[name] for name in ("rounds", "share", "confidence", "seed", "device")}
    assert shared == {"rounds": 3, "share": 0.5, "confidence": 0.9, "seed": 4, "device": "auto"}


def test_several_columns_of_predictions_go_by_position(calls: list[Any]) -> None:
    table_leakage(
        FRAME, attribute="group", labels=["smiles", "sings"], predictions=["p_sings", "p_smiles"]
    )
    ((_, (labels, given, _), _),) = calls
    assert list(labels.columns) == ["smiles", "sings"]
    assert isinstance(given, np.ndarray)
    assert given.tolist() == FRAME[["p_sings", "p_smiles"]].to_numpy().tolist()


def test_the_measurements_are_those_of_the_columns() -> None:
    options: dict[str, Any] = {"attacker": "logistic", "rounds": 2}
    several, scores = ["smiles", "sings"], ["p_smiles", "p_sings"]
    found = table_leakage(
        FRAME, attribute="group", labels=several, predictions=scores, split="part",
        settings=LeakageSettings(**options),
    )  # fmt: skip
    expected = leakage_amplification(
        FRAME[several], FRAME[scores].to_numpy(), FRAME["group"], split=FRAME["part"], **options
    )
    assert found.rounds == expected.rounds
    # The answer of a single run is that of the measurement, with its own notes.
    assert found.notes == expected.notes
    assert found.rows[-1].over_runs is None
    alone = table_leakage(FRAME, attribute="group", labels=["verb"], settings=EXACT)
    assert (
        alone.rounds
        == dataset_leakage(FRAME["verb"], FRAME["group"], attacker="exact", rounds=2).rounds
    )
    model = table_leakage(FRAME, attribute="group", predictions=["said"], settings=EXACT)
    assert (
        model.rounds
        == model_leakage(FRAME["said"], FRAME["group"], attacker="exact", rounds=2).rounds
    )


def test_a_yes_or_no_label_is_checked_only_where_there_are_several() -> None:
    options: dict[str, Any] = {"attribute": "group", "settings": EXACT}
    assert table_leakage(FRAME, labels=["verb"], **options).rows
    assert table_leakage(FRAME, predictions=["said"], **options).rows
    with pytest.raises(DataFileError, match=r'"verb" must be 0 or 1: found .* in row 1'):
        table_leakage(FRAME, labels=["smiles", "verb"], **options)
    with pytest.raises(DataFileError, match='"said" must hold numbers'):
        table_leakage(FRAME, predictions=["p_smiles", "said"], **options)


@pytest.mark.parametrize("number", [2, 0.5, -1])
def test_the_row_of_a_label_that_is_neither_is_counted_from_one(number: float) -> None:
    broken = FRAME.assign(smiles=FRAME["smiles"].where(np.arange(ROWS) != 6, number))
    with pytest.raises(DataFileError, match=r'"smiles" must be 0 or 1: .* in row 7'):
        table_leakage(broken, attribute="group", labels=["smiles", "sings"], settings=EXACT)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs `labels`, `predictions` or both"),
        ({"labels": "verb", "predictions": ["said"]}, "lists of columns"),
        ({"labels": ["verb"], "predictions": "said"}, "lists of columns"),
        ({"predictions": ["said"], "at": 0.5}, "`at` perturbs labels"),
        ({"labels": ["verb"], "threshold": 0.5}, "needs both"),
        ({"predictions": ["said"], "threshold": 0.5}, "needs both"),
    ],
)
def test_settings_that_would_do_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    columns = {name: options[name] for name in ("labels", "predictions") if name in options}
    settings = LeakageSettings(**{name: options[name] for name in options if name not in columns})
    with pytest.raises(InputError, match=message):
        table_leakage(FRAME, attribute="group", settings=settings, **columns)


def test_settings_that_do_something_are_taken(calls: list[Any]) -> None:
    both: dict[str, Any] = {"labels": ["verb"], "predictions": ["said"]}
    for options, settings in (
        ({"labels": ["verb"]}, LeakageSettings(at=0.5)),
        (both, LeakageSettings(at=0.5, threshold=0.25)),
        (both, LeakageSettings(threshold=0.0)),
        (both, None),
    ):
        table_leakage(FRAME, attribute="group", settings=settings, **options)
    assert [options["at"] for _, _, options in calls] == [0.5, 0.5, None, None]
    assert [options["threshold"] for _, _, options in calls[1:]] == [0.25, 0.0, None]
    assert [options["attacker"] for _, _, options in calls] == [Mlp()] * 4


def test_runs_are_named_and_in_the_order_of_their_names(calls: list[Any]) -> None:
    together = pd.concat([FRAME.assign(seed=seed) for seed in ("b", "c", "a")])
    together["verb"] = together["verb"] + "-" + together["seed"]
    found = table_leakage(together, attribute="group", labels=["verb"], run_column="seed")
    assert [given[0].iloc[0][-2:] for _, given, _ in calls] == ["-a", "-b", "-c"]
    assert found.rounds == (0.5, 0.5, 0.5)
    assert found.rows[0].f1 is None
    calls.clear()
    # A column with one run is one run.
    single = table_leakage(
        FRAME.assign(seed=1), attribute="group", labels=["verb"], run_column="seed"
    )
    assert len(calls) == 1
    assert single.rows[0].over_runs is None


def test_all_runs_must_have_the_groups_of_the_first(calls: list[Any]) -> None:
    other = FRAME.assign(group=FRAME["group"].replace("w", "x"))
    with pytest.raises(InputError) as problem:
        table_leakage(FRAME, FRAME, other, attribute="group", labels=["verb"])
    assert str(problem.value) == (
        "table 3: the groups are m, x, in table 1 they are m, w; all training runs must have the "
        "same groups"
    )


def test_an_error_of_a_single_table_is_not_given_a_name() -> None:
    with pytest.raises(InputError, match=r"^too few examples"):
        table_leakage(FRAME.iloc[:20], attribute="group", labels=["verb"], settings=EXACT)
    with pytest.raises(InputError, match=r"^table 1: too few examples"):
        table_leakage(FRAME.iloc[:20], FRAME, attribute="group", labels=["verb"], settings=EXACT)


def test_tables_in_memory_are_numbered_from_one() -> None:
    assert _names([FRAME]) == ["the table"]
    assert _names([FRAME, "b.csv", FRAME]) == ["table 1", "b.csv", "table 3"]
    assert _names([Path("a.csv")]) == ["a.csv"]


def test_the_provenance_has_a_command_only_for_files(calls: list[Any], tmp_path: Path) -> None:
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path in paths:
        FRAME.assign(run=path.stem).to_csv(path, index=False)
    options: dict[str, Any] = {"attribute": "group", "labels": ["verb"], "split": "part"}
    found = table_leakage(*paths, **options).provenance
    assert found["subject"] == f"{paths[0]}, {paths[1]}"
    assert found["command"] == (
        f"lmprobe leak {paths[0]} {paths[1]} --attribute=group --split part --labels verb"
    )
    by_column = table_leakage(str(paths[0]), **options, run_column="run").provenance
    assert by_column["command"] == (
        f"lmprobe leak {paths[0]} --attribute=group --split part --run-column run --labels verb"
    )
    for tables, subject in (((FRAME,), "a table"), ((paths[0], FRAME), f"{paths[0]}, a table")):
        found = table_leakage(*tables, **options).provenance
        assert found["subject"] == subject
        assert "command" not in found
    assert (found["split"], found["run_column"]) == ("part", None)


def test_runs_are_tables_or_a_column_and_not_both() -> None:
    with pytest.raises(InputError, match="not both"):
        table_leakage(FRAME, FRAME, attribute="group", labels=["verb"], run_column="part")


def test_the_mean_over_runs_leaves_out_an_f1_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = iter([(0.5, 0.8), (0.7, None), (0.9, 0.4)])

    def measure(*given: Any, **options: Any) -> LeakageResult:
        value, f1 = next(made)
        interval = Interval(value - 0.1, value + 0.2, 0.95, "t")
        row = leakage_row(Measure.DATASET, value, interval, (value,), chance=0.5, f1=f1)
        return LeakageResult((row,), ("m", "w"), (Note(NoteKind.DATA, f"of {value}", ""),))

    monkeypatch.setattr(module, "dataset_leakage", measure)
    found = table_leakage(FRAME, FRAME, FRAME, attribute="group", labels=["verb"])
    assert found.f1 == pytest.approx(0.6)
    assert found.value == pytest.approx(0.7)
    assert (found.interval.low, found.interval.high) == pytest.approx((0.6, 0.9))
    assert found.rounds == (0.5, 0.7, 0.9)
    # The runs are alike in what their notes say: those of the first stand for all.
    assert [note.kind for note in found.notes] == [NoteKind.DATA, NoteKind.RUNS]
    assert found.notes[0].text == "of 0.5"


def test_only_the_mlp_has_layers_and_a_width() -> None:
    assert _attacker(LeakageSettings()) == Mlp()
    assert _attacker(LeakageSettings(layers=2)) == Mlp(layers=2)
    assert _attacker(LeakageSettings(width=7)) == Mlp(width=7)
    assert _attacker(LeakageSettings(layers=2, width=7)) == Mlp(layers=2, width=7)
    with pytest.raises(InputError, match='"exact" has no `layers`; use mlp'):
        _attacker(LeakageSettings(attacker="exact", layers=2, width=7))
    with pytest.raises(InputError, match='"logistic" has no `width`; use mlp'):
        _attacker(LeakageSettings(attacker="logistic", width=7))


def test_the_defaults_are_the_documented_ones(calls: list[Any]) -> None:
    found = table_leakage(FRAME, attribute="group", labels=["verb"])
    assert found.provenance["settings"] == {
        "at": None, "average": "macro", "threshold": None, "attacker": "mlp", "layers": None,
        "width": None, "share": 1.0, "rounds": 5, "device": "auto", "confidence": 0.95, "seed": 0,
    }  # fmt: skip
    table_leakage(FRAME, attribute="group", labels=["verb"], settings=LeakageSettings(seed=0))
    with pytest.raises(InputError, match="`seed` must be at least 0"):
        LeakageSettings(seed=-1)
