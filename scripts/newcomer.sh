#!/usr/bin/env bash
# What somebody new does, from nothing: a fresh environment, a wheel, an empty folder. It lists, trains
# the disk for 50 steps, draws, judges, reports, adds a project of one's own, and runs the notebook.
#
#   scripts/newcomer.sh            97 seconds on a machine near a package index, PyTorch's CPU build
#
# Nothing of this checkout is on Python's path: what is missing in the wheel, or in its requirements,
# fails here.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
began=$SECONDS
say() { printf '\n== %s (%s s)\n' "$*" "$((SECONDS - began))"; }

say "a wheel"
git clone --quiet "$here" "$work/source"
python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet -c "$here/constraints.txt" build
"$work/tools/bin/python" -m build --wheel --outdir "$work/dist" "$work/source" > "$work/build.log"

say "a fresh environment"
python3 -m venv "$work/env"
export PATH="$work/env/bin:$PATH"
unset PYTHONPATH
wheel=$(ls "$work"/dist/*.whl)
pip install --quiet -c "$here/constraints.txt" "$wheel[report]"

mkdir "$work/empty"
cd "$work/empty"
say "ntkexp list"
# Not into a pipe: what head does not read would end the command by SIGPIPE, and this script with it.
ntkexp list > listed
head -n 5 listed
say "train"
ntkexp train +exp=disk optim.steps=50 progress=false
ntkexp list disk
say "figures"
ntkexp figures alignment 1
test -s outputs/figures/fig01_disk_eigenfunctions.png
say "claims"
ntkexp claims --figure 1 | grep 'claims: '
say "report"
ntkexp report
test -n "$(find outputs/report/index.html -size -8000k)"

say "a project of one's own"
cp -r "$work/source/examples/own_project" "$work/own"
pip install --quiet --no-deps --no-build-isolation "$work/own" || {
    pip install --quiet setuptools wheel
    pip install --quiet --no-deps --no-build-isolation "$work/own"
}
ntkexp list spirals
ntkexp train +exp=spirals scale=small progress=false
ntkexp claims --paper own_project | grep 'claims: '

say "the notebook"
pip install --quiet -c "$here/constraints.txt" nbclient ipykernel
cp "$work/source/docs/tour.ipynb" .
jupyter execute tour.ipynb
say "all of it worked"
