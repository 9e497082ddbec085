#!/usr/bin/env bash
# Most of the runs that the main paper's figures and verdicts stand on, copied to outputs/reference at
# the end. docs/gallery has the commands of all, of the other papers too.
#
#   scripts/reference.sh cpu     MLP, disk and study experiments at the paper's size, and the
#                                convolutional ones on all images with 16 channels for 64.
#                                Studies and MLPs: 4 hours of one busy core, 2 of them for three
#                                seeds of the sweeps of Figure 6; a VGG19 or ResNet18: an hour and a
#                                quarter of one core where two run side by side, VGG11 22 minutes.
#   scripts/reference.sh released
#                                VGG19 by the authors' recipe, 16 channels, to iteration 100,000:
#                                18 hours of a core for the three; before them the MLP on MNIST, 5
#                                minutes; after them the small rate to 10,000 and ResNet18 to 3,000,
#                                two hours
#   scripts/reference.sh gpu     VGG and ResNet at full size, in calls of 9 minutes, 40 in all: call
#                                it again and again. Each goes on where the last was stopped and ends
#                                with small tables in outputs/reference; the first also runs the tests
#                                of the device and times it, for half of its time at most. Not run on
#                                a GPU yet.
#   scripts/reference.sh plan    the jobs of gpu with their commands, what is finished and what comes
#                                next; trains nothing and needs no GPU
#   scripts/reference.sh keep    copies what is finished, trains nothing
#
# Stopped at any point, the same command goes on: finished runs are skipped, begun ones resumed.
# NTKEXP_DATA names the folder of images, NTKEXP the command and PYTHON the interpreter that has it
# (default: those of .venv, else of the PATH), SEEDS the seeds (default: 0,1,2), NARROW_SEEDS those of
# the narrow convolutional nets (default: 0). Of `gpu`: GPU_SECONDS (540) a call, GPU_CALLS (40), GPU_FOLDER for
# what is done and logged, and GPU_TABLES, a folder that gets the small tables as one tar as well.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x .venv/bin/ntkexp ] && PATH=$PWD/.venv/bin:$PATH
NTKEXP=${NTKEXP:-ntkexp}
SEEDS=${SEEDS:-0,1,2}
NARROW_SEEDS=${NARROW_SEEDS:-0}
PYTHON=${PYTHON:-python3}
GPU_FOLDER=${GPU_FOLDER:-outputs/gpu}
GPU_SECONDS=${GPU_SECONDS:-540}
GPU_CALLS=${GPU_CALLS:-40}
# With less time than this no job is begun: loading takes half of it.
GPU_LEAST=${GPU_LEAST:-30}

train() { $NTKEXP train -m "$@" progress=false; }
# 16 channels for 64, no augmentation (recipe=paper has none); losses on 5,000 examples.
narrow() {
    train "$@" model.base=16 seed="$NARROW_SEEDS" \
        evaluate.train_examples=5000 evaluate.test_examples=5000
}

studies() {
    for name in supernat fourier_modes rademacher local_bias linear_modes; do
        $NTKEXP study +exp=$name progress=false
    done
    $NTKEXP study -m +exp=feature_scaling progress=false
}

mlps() {
    train +exp=disk seed="$SEEDS"
    train +exp=mlp_mnist seed="$SEEDS"
    train +exp=easy_difficult_noise seed="$SEEDS"
    train +exp=easy_difficult_kmnist seed="$SEEDS"
    train +exp=easy_difficult_depth seed="$SEEDS"
    # All digits with noise are not fitted at this rate (docs/reproduction.md, Figure 6).
    train +exp=complexity_width seed="$SEEDS"
    train +exp=complexity_width_lr001 seed="$SEEDS"
    train +exp=complexity_noise data.train_examples=10000 seed="$SEEDS"
}

narrow_nets() {
    # 24 epochs do not fit random labels, and more than a hundred might not (docs/reproduction.md,
    # Figure 2).
    for name in clean noise20 noise50 clean_lr003 noise50_lr003; do
        narrow +exp=vgg19_$name optim.epochs=24
    done
    narrow +exp=vgg11_directions
    narrow +exp=resnet18_cifar10 optim.epochs=10
    # The paper's 8 to 28 channels on all images would take days.
    train +exp=complexity_channels scale=small model.base=8,12,16,24,28 seed="$SEEDS" \
        data.test_examples=10000
}

# The recipe of the authors' curves, 16 channels, to iteration 100,000: six hours of a core each.
released_nets() {
    train +exp=mlp_mnist recipe=released seed="$NARROW_SEEDS"
    for name in clean noise50 noise20; do
        narrow +exp=vgg19_$name recipe=released optim.epochs=256
    done
    # Figures 11, 12 and 14, whose claims are of fewer iterations.
    for name in clean noise50; do
        narrow +exp=vgg19_${name}_lr003 recipe=released optim.epochs=26
    done
    narrow +exp=resnet18_cifar10 recipe=released optim.epochs=8
}

# Full size. One row a job: a name, then the words of its command; first what most claims wait for.
gpu_jobs() {
    local evaluated="evaluate.train_examples=5000 evaluate.test_examples=5000"
    local released="recipe=released optim.epochs=300 $evaluated"
    cat <<JOBS
vgg19_clean +exp=vgg19_clean $evaluated
vgg19_noise50_released +exp=vgg19_noise50 $released
vgg19_clean_released +exp=vgg19_clean $released
vgg19_noise20_released +exp=vgg19_noise20 $released
vgg19_noise50 +exp=vgg19_noise50 $evaluated
vgg19_noise20 +exp=vgg19_noise20 $evaluated
vgg19_clean_lr003 +exp=vgg19_clean_lr003 $evaluated
vgg19_noise50_lr003 +exp=vgg19_noise50_lr003 $evaluated
resnet18 +exp=resnet18_cifar10 $evaluated
vgg11_directions +exp=vgg11_directions $evaluated
channels_28 +exp=complexity_channels model.base=28 $evaluated
channels_16 +exp=complexity_channels model.base=16 $evaluated
channels_8 +exp=complexity_channels model.base=8 $evaluated
channels_24 +exp=complexity_channels model.base=24 $evaluated
channels_12 +exp=complexity_channels model.base=12 $evaluated
channels_20 +exp=complexity_channels model.base=20 $evaluated
JOBS
}

# Checks and timings of the device come before the long runs, each once, whatever comes of it, and
# each for a quarter of a call at most.
gpu_checks() {
    local files
    mapfile -t files < <(grep -rl --include="test_*.py" "mark.cuda" tests)
    gpu_check tests -m pytest -q -m cuda "${files[@]}"
    gpu_check bench scripts/tools/bench/tangent.py --device cuda --out "$GPU_FOLDER/bench/cuda"
}

gpu_check() {
    local name=$1 code=0
    shift
    [ -e "$GPU_FOLDER/checks/$name" ] && return
    mkdir -p "$GPU_FOLDER/checks"
    timeout $((GPU_SECONDS / 4 + 1)) "$PYTHON" "$@" > "$GPU_FOLDER/log/$name" 2>&1 || code=$?
    echo "$code" > "$GPU_FOLDER/checks/$name"
    [ "$code" -eq 0 ] ||
        echo "$name of the device: failed ($code), see $GPU_FOLDER/log/$name; training goes on" >&2
}

# What a machine with a GPU would be asked to do, in order.
gpu_plan() {
    local name words state next="comes next"
    while read -r name words; do
        state=waits
        if [ -e "$GPU_FOLDER/finished/$name" ]; then
            state=finished
        elif [ -n "$next" ]; then
            state=$next next=""
        fi
        echo "$name, $state: $NTKEXP train $words device=cuda"
    done < <(gpu_jobs)
}

# One call: works for GPU_SECONDS, then stops what is begun by SIGTERM, which commits it.
gpu_call() {
    local calls began name words left code=0 kept=0
    "$PYTHON" -c "import sys, torch; sys.exit(not torch.cuda.is_available())" || {
        echo "$PYTHON: torch sees no CUDA device; a call would be spent on nothing" >&2
        return 2
    }
    mkdir -p "$GPU_FOLDER/log" "$GPU_FOLDER/finished"
    calls=$(cat "$GPU_FOLDER/calls" 2>/dev/null || echo 0)
    if [ "$calls" -ge "$GPU_CALLS" ]; then
        echo "$calls of $GPU_CALLS calls are used; GPU_CALLS=$((calls + 1)) allows another" >&2
        return 3
    fi
    echo $((calls + 1)) > "$GPU_FOLDER/calls"
    began=$SECONDS
    gpu_checks
    while read -r name words; do
        [ -e "$GPU_FOLDER/finished/$name" ] && continue
        left=$((GPU_SECONDS - (SECONDS - began)))
        [ "$left" -ge "$GPU_LEAST" ] || break
        code=0
        # Words are separated by blanks on purpose.
        # shellcheck disable=SC2086
        timeout --signal=TERM --kill-after=60 "$left" $NTKEXP train $words device=cuda \
            progress=false < /dev/null > "$GPU_FOLDER/log/$name" 2>&1 || code=$?
        case $code in
            0) touch "$GPU_FOLDER/finished/$name"; echo "$name: finished" ;;
            124 | 130 | 137 | 143) echo "$name: goes on in the next call"; break ;;
            *) echo "$name: failed ($code), see $GPU_FOLDER/log/$name" >&2 ;;
        esac
    done < <(gpu_jobs)
    # Small tables after every call: nothing is lost if it was the last.
    "$PYTHON" scripts/tools/keep_reference.py --begun || kept=$?
    [ -z "${GPU_TABLES:-}" ] || tar -cf "$GPU_TABLES/reference.tar" outputs/reference
    echo "call $((calls + 1)) of $GPU_CALLS, $((SECONDS - began)) s; finished:" \
        "$(find "$GPU_FOLDER/finished" -type f | wc -l) of $(gpu_jobs | wc -l)"
    return "$kept"
}

case "${1:-}" in
    cpu) studies; mlps; narrow_nets ;;
    released) released_nets ;;
    gpu) gpu_call; exit ;;
    plan) gpu_plan; exit ;;
    keep) ;;
    *) echo "usage: scripts/reference.sh cpu|released|gpu|plan|keep" >&2; exit 2 ;;
esac
"$PYTHON" scripts/tools/keep_reference.py
