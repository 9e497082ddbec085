"""CIFAR2: Figures 5 and 6 and Table 1. All thresholds were set before the runs, but the MLP was
judged by those of LeNet's gap when its runs were there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Claim, Control, Section, above, between, sharing
from ntkexp.claims.statistics import Group, by
from ntkexp.papers.linearised.kernels import energies
from ntkexp.papers.linearised.tasks import (
    LEARNED_BY_MOST,
    LINEAR,
    NETS,
    STEPS,
    by_size,
    experiments,
    gaps,
    net_of,
    of_network,
)
from ntkexp.results.numbers.evals import last
from ntkexp.results.record import Record

# Table 1: energy concentration at both ends of training, and accuracy.
TABLE_1 = {"mlp": (0.260, 0.636, 0.676), "lenet": (0.258, 0.830, 0.750)}
BASE = tuple(f"linearised/cifar2_{net}" for net in NETS)
# ResNet18 has fewer channels and images here, so its numbers are not those of the table.
AS_THERE = tuple(f"linearised/cifar2_{net}" for net in TABLE_1)
ADAM = "linearised/cifar2_mlp_adam"
SIZES = {net: experiments(f"linearised/sizes_{net}") for net in TABLE_1}
FEW, MANY = 256, 16_384


def with_linearisation(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, evals of a network, those of its linearisation), on all of CIFAR2."""
    runs = {record.experiment: record for record in records}
    for record in records:
        if (linear := runs.get(record.experiment + LINEAR)) is not None:
            panel = NETS[net_of(record)]
            yield panel, record.seed, record.tables["evals"], linear.tables["evals"]


def advantage(network: pd.DataFrame, linear: pd.DataFrame) -> float:
    return last(network) - last(linear)


def learned_by_linear(network: pd.DataFrame, linear: pd.DataFrame) -> float:
    return last(linear, "train")


def each_energy(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, net, the labels' energy by step)."""
    for net, table in energies(records).items():
        yield NETS[net], 0, net, table["labels"]


def start_off(net: str, energy: pd.Series) -> float:
    """The energy at the start less the table's."""
    return float(energy.iloc[0]) - TABLE_1[net][0]


def growth(net: str, energy: pd.Series) -> float:
    return float(energy.iloc[-1] - energy.iloc[0])


def neighbours(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, the energies of two networks that follow each other in `NETS`)."""
    tables = energies(records)
    for before, net in pairwise(NETS):
        if {before, net} <= tables.keys():
            panel = f"{NETS[net]} less {NETS[before]}"
            yield panel, 0, tables[before]["labels"], tables[net]["labels"]


def gain_at_end(before: pd.Series, energy: pd.Series) -> float:
    return float(energy.iloc[-1]) - float(before.iloc[-1])


def each_net(records: Sequence[Record]) -> Iterator[Group]:
    for record in records:
        yield NETS[net_of(record)], record.seed, net_of(record), record.tables["evals"]


def accuracy_off(net: str, evals: pd.DataFrame) -> float:
    """Test accuracy less the table's."""
    return last(evals) - TABLE_1[net][2]


def gaps_by_size(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, the gaps of a network to its linearisation by size)."""
    for net in dict.fromkeys(map(net_of, records)):
        gap = gaps(by_size(records), net)
        if {FEW, MANY} <= {*gap}:
            for seed, row in gap.iterrows():
                yield NETS[net], int(str(seed)), row


def growth_of_gap(gap: pd.Series) -> float:
    """The gap at 16,384 images less that at 256."""
    return float(gap[MANY] - gap[FEW])


def each_distance(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, how far a network's weights moved, by size)."""
    frame = by_size(records)
    for (net, seed), rows in frame[frame["whose"] == "network"].groupby(["net", "seed"]):
        yield NETS[str(net)], int(str(seed)), rows.set_index("size")["distance"].sort_index()


def least_growth(distances: pd.Series) -> float:
    """From one size to the next; of two sizes nothing is said."""
    return float(np.diff(distances).min()) if len(distances) > 2 else float("nan")


def same_updates(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, the distances of 256 images for the updates of 4,096, that of 4,096)."""
    frame = by_size(records)
    rows = frame[(frame["net"] == "mlp") & (frame["whose"] == "network") & (frame["size"] == 4096)]
    of_4096: dict[Any, float] = dict(zip(rows["seed"], rows["distance"], strict=True))
    for record in records:
        if record.experiment == STEPS and record.seed in of_4096:
            yield "MLP", record.seed, record.tables["distance"], of_4096[record.seed]


def steps_alone(distance: pd.DataFrame, of_4096: float) -> float:
    return float(distance.sort_values("step")["distance"].iloc[-1] / of_4096)


LEARNED = Control(
    "training accuracy of the linearisation",
    by(with_linearisation)(learned_by_linear),
    above(LEARNED_BY_MOST),
)
table1 = sharing(
    "linearised-table1-",
    figure="table 1",
    experiments=BASE,
    tables=("evals", "energy_concentration"),
)
fig5 = sharing("linearised-fig05-", figure="5", tables=("evals", "distance"))


CLAIMS = (
    Claim(
        "linearised-cifar2-advantage",
        "2",
        "On CIFAR2 networks are better than their linearisations",
        paper="significantly better, with 200 epochs",
        number="test accuracy of the network less that of its linearisation",
        experiments=tuple(name + end for name in BASE for end in ("", LINEAR)),
        tables=("evals",),
        statistic=by(with_linearisation)(advantage),
        holds=above(0.01),
        threshold="ours",
        control=LEARNED,
        seen="a control was added: ResNet18's linearisation has .6 of its training labels right",
    ),
    table1(
        "start",
        experiments=AS_THERE,
        says="At the start 50 eigenvectors hold as much of CIFAR2's labels as in Table 1",
        paper="26.0 % for the MLP, 25.8 % for LeNet",
        number="energy concentration at initialisation less the table's",
        statistic=by(each_energy)(start_off),
        holds=between(-0.03, 0.03),
        threshold="ours, for other initialisations and JPEG copies",
    ),
    table1(
        "grows",
        says="Training concentrates the labels in the leading eigenvectors",
        paper="from 26.0 to 63.6 % for the MLP, from 25.8 to 83.0 % for LeNet, from 22.7 to 96.7 % "
        "for ResNet18",
        number="energy concentration at the end less that at the start",
        statistic=by(each_energy)(growth),
        holds=above(0.2),
        threshold="ours",
    ),
    table1(
        "grows-adam",
        figure="6",
        experiments=(ADAM,),
        says="It does so across training setups: by Adam, too",
        paper="prevalent across training setups",
        number="energy concentration at the end less that at the start",
        statistic=by(each_energy)(growth),
        holds=above(0.0),
        seen="this was written",
    ),
    table1(
        "order",
        says="At the end they are more concentrated in LeNet than in the MLP, and in ResNet18 than "
        "in LeNet",
        paper="63.6, 83.0 and 96.7 %",
        number="energy concentration less that of the network before",
        statistic=by(neighbours)(gain_at_end),
        holds=above(0.0),
        threshold="the text",
    ),
    table1(
        "accuracy",
        experiments=AS_THERE,
        says="Both are as accurate as in Table 1",
        paper="67.6 % for the MLP, 75.0 % for LeNet",
        number="test accuracy less the table's",
        statistic=by(each_net)(accuracy_off),
        holds=between(-0.02, 0.02),
        threshold="ours",
    ),
    fig5(
        "gap-grows",
        experiments=(*SIZES["lenet"], *SIZES["mlp"]),
        says="With more images a network gains on its linearisation",
        paper="the advantage is mostly at large sizes",
        number="gap of test accuracies at 16,384 images less that at 256, in each seed",
        statistic=by(gaps_by_size)(growth_of_gap),
        holds=above(0.0),
        jointly=of_network,
        seen="the MLP was judged, too, and when two points on average, by which it holds as well, "
        "were no longer asked",
    ),
    fig5(
        "distance-grows",
        experiments=("linearised/sizes_mlp", "linearised/sizes_lenet"),
        says="The more images, the farther the weights of a network move",
        paper="closer to initialisation with small sets",
        number="least growth of |theta_T - theta_0| from one size to the next",
        statistic=by(each_distance)(least_growth),
        holds=above(0.0),
        threshold="the text",
    ),
    fig5(
        "steps-alone",
        experiments=("linearised/sizes_mlp", STEPS),
        says="Ours: it is the images and not the updates that move the weights",
        paper="not said",
        number="|theta_T - theta_0| of 256 images for the updates of 4,096, over that of 4,096",
        statistic=by(same_updates)(steps_alone),
        holds=between(0.0, 0.7),
        threshold="ours",
        section=Section.ours,
        pilot=True,
        seen="this was written: a trial on an MLP had 7.1 against 17.0",
    ),
)
