#!/usr/bin/env bash
# The runs that README's figures and ledger stand on, copied to outputs/reference at the end.
#
#   scripts/reference.sh cpu     MLP, disk and study experiments at the paper's size, and the
#                                convolutional ones on all images with 16 channels for 64.
#                                On two CPU cores: HOURS_CPU.
#   scripts/reference.sh gpu     VGG and ResNet at full size. On one GPU: HOURS_GPU.
#   scripts/reference.sh keep    copies what is finished, trains nothing
#
# Stopped at any point, the same command goes on: finished runs are skipped, begun ones resumed.
# NTKEXP_DATA names the folder of images, NTKEXP the command (default: ntkexp), SEEDS the seeds
# (default: 0,1,2), PYTHON the interpreter that has it and NARROW_SEEDS those of the narrow convolutional nets (default: 0).
set -euo pipefail
cd "$(dirname "$0")/.."
NTKEXP=${NTKEXP:-ntkexp}
SEEDS=${SEEDS:-0,1,2}
NARROW_SEEDS=${NARROW_SEEDS:-0}

train() { $NTKEXP train -m "$@" progress=false; }
# Until they fit: 40 epochs of 500 steps, no augmentation (recipe=paper has none).
narrow() { train "$@" model.base=16 optim.epochs=40 seed="$NARROW_SEEDS"; }

studies() {
    for name in supernat feature_scaling fourier_modes rademacher local_bias linear_modes; do
        $NTKEXP study +exp=$name progress=false
    done
}

mlps() {
    train +exp=disk seed="$SEEDS"
    train +exp=mlp_mnist seed="$SEEDS"
    train +exp=easy_difficult_noise seed="$SEEDS"
    train +exp=easy_difficult_kmnist seed="$SEEDS"
    train +exp=easy_difficult_depth seed="$SEEDS"
    train +exp=complexity_width seed="$SEEDS"
    train +exp=complexity_noise seed="$SEEDS"
}

narrow_nets() {
    for noise in clean noise20 noise50; do narrow +exp=vgg19_$noise; done
    narrow +exp=vgg19_clean_lr003
    narrow +exp=vgg19_noise50_lr003
    train +exp=vgg11_directions model.base=16 seed="$NARROW_SEEDS"
    train +exp=resnet18_cifar10 model.base=16 optim.epochs=10 seed="$NARROW_SEEDS"
}

full_nets() {
    for name in vgg19_clean vgg19_noise20 vgg19_noise50 vgg19_clean_lr003 vgg19_noise50_lr003 \
        resnet18_cifar10 vgg11_directions complexity_channels; do
        train +exp=$name
    done
}

case "${1:-}" in
    cpu) studies; mlps; narrow_nets ;;
    gpu) full_nets ;;
    keep) ;;
    *) echo "usage: scripts/reference.sh cpu|gpu|keep" >&2; exit 2 ;;
esac
${PYTHON:-python3} scripts/keep_reference.py
