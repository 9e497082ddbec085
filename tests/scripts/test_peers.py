"""The other tools that ours is timed against give the kernel that we give."""

import pytest
import torch
from torch import nn

from ntkexp.scripts.tools.bench.peers import PEERS, absent
from ntkexp.scripts.tools.bench.torch_func import in_row_blocks, of_torch_func
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


@pytest.mark.parametrize("bias", [True, False])
def test_a_weight_without_room_is_taken_in_blocks_of_rows(bias: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 7, bias=bias), nn.Tanh(), nn.Linear(7, 2)).double()
    inputs = torch.randn(3, 6, dtype=torch.float64)
    room = 6 * 8 * 2 * 3 * 2  # two rows of the first weight, for two outputs of three inputs
    cut = in_row_blocks(model, room // 6)
    assert max(p.nbytes for p in cut.parameters()) <= room // 6
    assert [len(p) for p in cut[0].weights] == [2, 2, 2, 1]
    torch.testing.assert_close(cut(inputs), model(inputs))
    torch.testing.assert_close(of_torch_func(model, inputs, room), of_torch_func(model, inputs))
    assert in_row_blocks(model, 10**6) is model
