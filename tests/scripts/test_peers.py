"""The other tools that ours is timed against give the kernel that we give."""

import pytest
import torch
from torch import nn

from ntkexp.scripts.bench.peers import PEERS, absent
from ntkexp.tangent import tangent_kernel


@pytest.mark.filterwarnings("ignore")  # the tools' own, of PyTorch's newest version
@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_gives_our_kernel(peer: str) -> None:
    if peer in absent():
        pytest.skip(f"{peer} is not installed")
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(12, 4)
    ).eval()
    inputs = torch.randn(3, 2, 4, 4)
    ours = tangent_kernel(model, inputs).gram
    theirs = PEERS[peer][1](model, inputs)
    torch.testing.assert_close(theirs, ours, rtol=1e-4, atol=1e-5)
