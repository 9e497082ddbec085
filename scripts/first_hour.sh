#!/usr/bin/env bash
# The first hour on a GPU: each step a command, and what must come out of it. Not run on a GPU yet.
#
#   scripts/first_hour.sh              all steps, about an hour; a failed step is named at the end
#   scripts/first_hour.sh plan         prints the steps and composes their runs; needs no GPU
#   scripts/first_hour.sh kernels cut  these steps alone
#
# In a fresh clone first: pip install -c constraints.txt -e '.[dev]'
# NTKEXP_DATA names the folder of images, FOLDER that of the runs (default: first_hour). It is not in
# outputs: from there scripts/reference.sh would keep them.
set -uo pipefail
cd "$(dirname "$0")/.."
[ -x .venv/bin/ntkexp ] && PATH=$PWD/.venv/bin:$PATH
NTKEXP=${NTKEXP:-ntkexp}
PYTHON=${PYTHON:-python3}
FOLDER=${FOLDER:-first_hour}
PLAN=
FAILED=
if [ "${1:-}" = plan ]; then PLAN=yes; shift; fi
ASKED=$*

# step NAME "what must come out" COMMAND...
step() {
    local name=$1 expected=$2 code=0
    shift 2
    [ -z "$ASKED" ] || [[ " $ASKED " == *" $name "* ]] || return 0
    printf '\n== %s\n   must: %s\n   $ %s\n' "$name" "$expected" "$*"
    if [ -n "$PLAN" ]; then
        [[ $1 != run && $1 != cut ]] || $NTKEXP train "${@:3}" --dry-run || FAILED+=" $name"
        return 0
    fi
    "$@" || code=$?
    [ "$code" -eq 0 ] || { echo "   failed with $code"; FAILED+=" $name"; }
}

# run FOLDER WORDS... trains into a folder of its own.
run() { $NTKEXP train "${@:2}" paths.outputs="$FOLDER/$1" progress=false; }

# The same, stopped after 40 seconds, which commits, and carried on.
cut() {
    if timeout --signal=TERM 40 $NTKEXP train "${@:2}" paths.outputs="$FOLDER/$1" progress=false
    then
        echo "it ended before it was cut: give it more steps"
        return 1
    fi
    run "$@"
}

# For a command without an end of its own.
a_while() {
    local code=0
    timeout "$@" || code=$?
    [ "$code" -eq 124 ] || return "$code"
}

# Two runs with the same updates.
same() {
    "$PYTHON" -c "
import sys
from pathlib import Path
import pandas as pd
first, second = (pd.read_parquet(*Path(folder).rglob('steps.parquet')) for folder in sys.argv[1:])
pd.testing.assert_frame_equal(first, second)" "$FOLDER/$1" "$FOLDER/$2"
}

falls() {
    "$PYTHON" -c "
import sys
from pathlib import Path
import pandas as pd
loss = pd.read_parquet(*Path(sys.argv[1]).rglob('steps.parquet'))['train_loss']
print(f'loss {loss.iloc[0]:.4f} to {loss.iloc[-1]:.4f}')
assert loss.iloc[-1] < 0.9 * loss.iloc[0], 'it does not train'" "$FOLDER/$1"
}

SHORT=(optim.epochs=null optim.steps=300 optim.stop_loss=null
       evaluate.train_examples=5000 evaluate.test_examples=5000)

step card "a name, and free bytes" "$PYTHON" -c "
import torch
print(torch.__version__, torch.version.cuda or torch.version.hip, torch.cuda.get_device_name())
print(torch.cuda.device_count(), 'GPUs,', torch.cuda.mem_get_info()[0] / 1e9, 'GB free')"

step tests "every test passes, none is skipped" \
    bash -c "\"$PYTHON\" -m pytest -q -m cuda \$(grep -rl --include='test_*.py' mark.cuda tests)"

# cuDNN chooses algorithms by shape: full networks must still be found to keep their examples apart.
step kernels "four lines, no refusal; each network the same norm to 4 digits with and without search" \
    "$PYTHON" -c "
import torch
from ntkexp.models import build
from ntkexp.models.resnet18 import Resnet18
from ntkexp.models.vgg import Vgg
from ntkexp.tangent import tangent_kernel
from ntkexp.training.device import set_precision
gpu = torch.device('cuda')
for deterministic in (True, False):
    set_precision(gpu, tf32=False, deterministic=deterministic)
    for options in (Vgg(depth=19), Resnet18()):
        net = build(options, (3, 32, 32), 10, seed=0).cuda().eval()
        torch.manual_seed(0)
        torch.cuda.reset_peak_memory_stats()
        gram = tangent_kernel(net, torch.randn(100, 3, 32, 32).cuda()).gram
        peak = torch.cuda.max_memory_allocated() / 1e9
        print(options.name, deterministic, f'{gram.norm().item():.4e}, peak {peak:.1f} GB')"

step vgg19 "finished, without the words 'no CUDA graph'" \
    run vgg19 +exp=vgg19_clean "${SHORT[@]}" device=cuda
step resnet18 "the same" run resnet18 +exp=resnet18_cifar10 "${SHORT[@]}" device=cuda
step graph "finished" run graph +exp=vgg19_clean "${SHORT[@]}" device=cuda deterministic=true
step plain "finished, and slower" \
    run plain +exp=vgg19_clean "${SHORT[@]}" device=cuda deterministic=true cuda_graph=false
step same "nothing: both have the same losses to the last digit" same graph plain
step cut "interrupted, then finished: probes go on with what they remember" \
    cut cut +exp=mlp_mnist 'probe=[linearity,complexity]' optim.epochs=null optim.steps=40000 \
    optim.stop_loss=null device=cuda checkpoint.every_seconds=2
step second "finished; with one GPU this and the next fail" run second +exp=disk device=cuda:1 optim.steps=200
step falls "a loss that falls" falls second
step sweep "both jobs finished" run sweep -m +exp=disk seed=2,3 device=cuda
step members "finished" \
    run members +exp=mlp_mnist 'members={seed:[0,1,2,3]}' optim.epochs=2 device=cuda
step linearised "finished; provenance.json names the route" \
    run linearised +exp=disk transform=linearise device=cuda
step tf32 "finished, without running out of memory" run tf32 +exp=vgg19_clean \
    'probe=[complexity]' optim.epochs=null optim.steps=60 evaluate.train_examples=500 \
    evaluate.test_examples=500 tf32=true device=cuda
step study "networks, for five minutes" a_while 300 $NTKEXP study +exp=lazy/c_scores_cifar \
    study.updates=50 device=cuda paths.outputs="$FOLDER/study"
step waits "warnings of looks, none of an update (learners/network.py)" "$PYTHON" -c "
import torch, ntkexp
torch.cuda.set_sync_debug_mode('warn')
ntkexp.run('vgg19_clean', {'optim.epochs': None, 'optim.steps': 100, 'device': 'cuda'},
           runs='$FOLDER/waits')"
step bench "seconds a kernel: write them down" "$PYTHON" scripts/tools/bench/tangent.py --device cuda \
    --case vgg19-100 resnet18-100 trace-vgg19-100
step training "seconds a step, with a graph and without" \
    "$PYTHON" scripts/tools/bench/training.py --device cuda

[ -z "$FAILED" ] || { printf '\nfailed:%s\n' "$FAILED" >&2; exit 1; }
