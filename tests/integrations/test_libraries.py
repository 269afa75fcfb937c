"""Results and metrics in other libraries: the same numbers as lmprobe's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe import directional_amplification, group_disparity
from lmprobe.errors import InputError, LmprobeError
from lmprobe.integrations.datasets import to_dataset
from lmprobe.integrations.sklearn import bias_amplification, disparity
from lmprobe.probing.result import ProbeResult


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 400),
            "region": rng.choice(["north", "south"], 400),
            "x": rng.normal(size=400),
        }
    )
    frame["hired"] = (frame.x + 0.4 * (frame.sex == "m") + rng.normal(size=400) > 0).astype(int)
    frame["said"] = (frame.x + 0.9 * (frame.sex == "m") > 0).astype(int)
    return frame


def own(people: pd.DataFrame) -> float:
    result = directional_amplification(people.sex, people.hired, task_predictions=people.said)
    assert result.attribute_to_task is not None
    return result.attribute_to_task.value


def test_a_dataset_holds_every_pair_or_row_and_the_provenance(result: ProbeResult) -> None:
    pairs = to_dataset(result)
    assert len(pairs) == len(result.pairs())
    assert pairs.column_names == list(result.pairs().columns)
    assert json.loads(pairs.info.description)["model"] == "example/made-up-model"
    labor = pairs.filter(lambda row: row["base"] == "labor" and row["task"] == "nurse")
    assert len(labor) == 2 * 20 * 2
    assert to_dataset(result, "rows")["value"][:] == [row.value for row in result.rows]
    with pytest.raises(InputError, match='did you mean "rows"'):
        to_dataset(result, "row")  # type: ignore[arg-type]


@pytest.fixture
def metric() -> Iterator[Any]:
    pytest.importorskip("evaluate", reason="evaluate is not installed")
    from lmprobe.integrations.evaluate import BiasAmplification

    return BiasAmplification()


def test_evaluate_computes_the_same_number(metric: Any, people: pd.DataFrame) -> None:
    """Of groups as words or numbers, of decisions or probabilities."""
    coded = people.assign(sex=(people.sex == "m").astype(int))
    likely = people.assign(said=1 / (1 + np.exp(-people.x)))
    for frame in (people, coded, likely):
        result = metric.compute(
            predictions=frame.said, references=frame.hired, attributes=frame.sex
        )
        value = pytest.approx(own(frame))
        assert result == {"attribute_to_task": value, "attribute_to_task_undefined_pairs": 0}


def test_evaluate_adds_up_batches(metric: Any, people: pd.DataFrame) -> None:
    names = {"said": "predictions", "hired": "references", "sex": "attributes"}
    for start in range(0, 400, 100):
        part = people[start : start + 100]
        metric.add_batch(**{names[name]: part[name].tolist() for name in names})
    assert metric.compute()["attribute_to_task"] == pytest.approx(own(people))


def test_evaluate_takes_words_and_a_guessed_attribute(metric: Any) -> None:
    sex, guess = np.array(["f", "f", "f", "m", "m", "m"]), np.array(["f", "f", "m", "m", "m", "f"])
    job = np.array(["cook", "cook", "mover", "mover", "mover", "cook"])
    said = np.array(["cook", "cook", "cook", "mover", "mover", "mover"])
    words = {"predictions": said, "references": job, "attributes": sex}
    result = metric.compute(**words, predicted_attributes=guess)
    both = directional_amplification(sex, job, task_predictions=said, attribute_predictions=guess)
    assert both.attribute_to_task is not None
    assert both.task_to_attribute is not None
    assert result["attribute_to_task"] == pytest.approx(both.attribute_to_task.value) != 0
    assert result["task_to_attribute"] == pytest.approx(both.task_to_attribute.value) != 0


def test_the_function_is_lmprobes_own(people: pd.DataFrame) -> None:
    result = bias_amplification(people.hired, people.said, sensitive_features=people.sex)
    assert result == own(people)
    options = {"sensitive_features": people.sex, "sample_weight": np.ones(len(people))}
    assert bias_amplification(people.hired, people.said, **options) == pytest.approx(result)
    with pytest.raises(LmprobeError):
        bias_amplification(people.hired, people.said[:-1], sensitive_features=people.sex)


def test_several_sensitive_features_are_crossed(people: pd.DataFrame) -> None:
    def crossed(features: Any) -> float:
        return bias_amplification(people.hired, people.said, sensitive_features=features)

    joined = people.sex + " & " + people.region
    assert crossed(people[["sex", "region"]]) == crossed(joined)
    assert crossed(people[["sex"]]) == own(people)


def test_fairlearn_takes_it_within_each_region(people: pd.DataFrame) -> None:
    fairlearn = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")
    frame = fairlearn.MetricFrame(
        metrics=bias_amplification,
        y_true=people.hired,
        y_pred=people.said,
        sensitive_features=people.region,
        sample_params={"sensitive_features": people.sex},
    )
    assert frame.overall == pytest.approx(own(people))
    north = people[people.region == "north"]
    assert frame.by_group["north"] == pytest.approx(own(north))


def test_disparities_agree_with_fairlearn(people: pd.DataFrame) -> None:
    fairlearn = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed")
    args = (people.hired, people.said)
    theirs = fairlearn.demographic_parity_difference(*args, sensitive_features=people.sex)
    ours = disparity(*args, sensitive_features=people.sex, protected="f")
    assert abs(ours) == pytest.approx(theirs)
    assert ours > 0
    whole = group_disparity(*args, sensitive_features=people.sex, protected="f")
    assert ours == pytest.approx(whole.value)


def test_scikit_learn_scores_with_it(people: pd.DataFrame) -> None:
    sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import KFold, cross_validate

    columns = pd.DataFrame({"x": people.x, "m": people.sex == "m"}, dtype=float)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(bias_amplification).set_score_request(sensitive_features=True)
        scores = cross_validate(
            LogisticRegression(),
            columns,
            people.hired,
            scoring=scorer,
            cv=KFold(3),
            params={"sensitive_features": people.sex.to_numpy()},
        )["test_score"]
    for score, (train, test) in zip(scores, KFold(3).split(columns), strict=True):
        model = LogisticRegression().fit(columns.iloc[train], people.hired.iloc[train])
        held_out = people.iloc[test]
        assert score == pytest.approx(own(held_out.assign(said=model.predict(columns.iloc[test]))))
