"""The norm of the weights along training:  python -m own_project.scripts.fig_spirals"""

import matplotlib.pyplot as plt

from ntkexp import results

if __name__ == "__main__":
    norms = results.load("outputs/spirals")["weight_norm"]
    for run, rows in norms.groupby("run"):
        plt.plot(rows["step"], rows["norm"], label=run)
    plt.legend()
    plt.savefig("fig_spirals.svg")
