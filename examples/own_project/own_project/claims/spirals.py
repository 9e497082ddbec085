"""What the project says of its spirals, and the number that decides it."""

import pandas as pd

from ntkexp.claims.claim import Claim, above
from ntkexp.claims.horizon import iteration
from ntkexp.claims.statistics import by_run


def growth(weight_norm: pd.DataFrame) -> float:
    norms = weight_norm["norm"]
    return float(norms.iloc[-1] / norms.iloc[0])


CLAIMS = (
    Claim("norm-grows", "1", "The weights grow", paper="grow", number="last norm over the first",
          experiments=("spirals",), tables=("weight_norm",), statistic=by_run(growth),
          holds=above(1.0), threshold="as the text has it", horizon=iteration(100)),
)  # fmt: skip
