"""Published experiments that need data which we may not, or cannot, pass on."""

from __future__ import annotations

from dataclasses import dataclass

from lmprobe.results import Section


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """A published experiment that needs data which we may not, or cannot, pass on."""

    what: str
    why: str
    command: str
    """How to run it with the data at hand: a table with one row per example."""


OUT_OF_REACH = (
    OutOfReach(
        "Wang & Russakovsky 2021, Table 1 and Table 3: COCO with masked people",
        "needs the COCO images, their captions, and three trained ResNet-18",
        "lmprobe amplify coco.parquet -a gender -t bicycle --score bicycle_score "
        "--attribute-prediction gender_predicted --train coco-train.parquet",
    ),
    OutOfReach(
        "Wang & Russakovsky 2021, Figure 4: consistency on CelebA",
        "needs the CelebA images and models trained five times for each setting",
        "lmprobe amplify celeba.parquet -a male -t smiling --score smiling_score "
        "--train celeba-train.parquet",
    ),
    OutOfReach(
        "Wang & Russakovsky 2021, Table 2, the row of Wikipedia with the original counts",
        "needs WikiText-103; the row above is from the counts of WikiText-2 that come with lmprobe",
        "lmprobe count wikitext-103.txt --rule paper --output counts",
    ),
    OutOfReach(
        "Ethayarajh 2020, Figure 1 and Table 1, on MNLI itself",
        "needs the five annotators' labels; above, populations with the same mean costs are "
        "used instead",
        "lmprobe disparity mnli.csv --prediction disagreement --group genre "
        "--protected government --method bernstein",
    ),
    OutOfReach(
        "Wang et al. 2019, Tables 1 to 5 and Figures 3 to 7, all that looks at images",
        "needs the COCO and imSitu images and models trained on them; the leakage of imSitu "
        "labels and of COCO captions is reproduced from counts",
        "lmprobe leak predictions.parquet --attribute gender --labels bicycle --labels umbrella "
        "--predictions bicycle_logit --predictions umbrella_logit --split split",
    ),
)


def out_of_reach_section() -> Section:
    """Return the section that says what cannot be run from here, and how to run it elsewhere."""
    return Section(
        "What cannot be reproduced here",
        text=(
            "These need images, annotations or trained models that cannot be distributed with "
            "lmprobe. If you have the data, a table with one row per example is enough; the "
            "names of files and columns below are examples.",
        ),
        parts=tuple(
            Section(one.what, text=(f"{one.why}.",), commands=(one.command,))
            for one in OUT_OF_REACH
        ),
        name="out-of-reach",
    )
