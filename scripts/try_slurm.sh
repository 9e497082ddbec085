#!/usr/bin/env bash
# A real SLURM on this machine alone, in a temporary folder, whose arrays may have six jobs: submits
# a sweep of 30 runs, so five a job, preempts one of the jobs, cancels another, and shows that the
# runs of both go on where they were.
#   apt-get install slurm-wlm && pip install '.[slurm]' && sudo scripts/try_slurm.sh
# Ten minutes on two cores. Needs root, for the daemons and their user database; everything else is
# in the temporary folder, and the daemons end with the script.
set -euo pipefail

NTKEXP=${NTKEXP:-ntkexp}
top=$(mktemp -d)
export SLURM_CONF=$top/slurm.conf
host=$(hostname -s)

stop() {
    for daemon in slurmd slurmctld munged; do
        [ -f "$top/$daemon.pid" ] && kill "$(cat "$top/$daemon.pid")" 2>/dev/null || true
    done
}
trap stop EXIT

# slurmctld and slurmd recognise each other by a key that munged holds.
mkdir -p "$top/state" "$top/spool" "$top/munge" && chmod 700 "$top/munge"
chmod 755 "$top"
dd if=/dev/urandom of="$top/munge/key" bs=1024 count=1 status=none
chmod 600 "$top/munge/key"
munged --force --socket "$top/munge/socket" --key-file "$top/munge/key" \
    --pid-file "$top/munged.pid" --log-file "$top/munge/log" --seed-file "$top/munge/seed"

cat >"$SLURM_CONF" <<CONF
ClusterName=trial
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$top/munge/socket
CredType=cred/munge
StateSaveLocation=$top/state
SlurmdSpoolDir=$top/spool
SlurmctldPidFile=$top/slurmctld.pid
SlurmdPidFile=$top/slurmd.pid
SlurmctldLogFile=$top/slurmctld.log
SlurmdLogFile=$top/slurmd.log
# Without control groups: they are not there in every container.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
JobRequeue=1
KillWait=30
MinJobAge=3600
MaxArraySize=6
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=1000 State=UNKNOWN
PartitionName=trial Nodes=$host Default=YES MaxTime=60 State=UP OverSubscribe=FORCE:2
CONF
slurmctld -f "$SLURM_CONF"
slurmd -f "$SLURM_CONF"
for _ in $(seq 30); do
    sinfo --noheader --format %t 2>/dev/null | grep -q idle && break
    sleep 1
done
sinfo

steps=8000
words="+exp=disk seed=range(30) model.depth=3 model.width=64 optim.steps=$steps data.grid=20
    checkpoint.every_seconds=1 progress=false launcher=slurm launcher.partition=trial
    launcher.cpus=1 launcher.minutes=10 launcher.array=2"

again() {
    # shellcheck disable=SC2086
    $NTKEXP train -m $words 2>&1 | grep -v "accounting storage"
}

cd "$top"
echo "== the sweep"
set -x
# shellcheck disable=SC2086
$NTKEXP train -m $words >sweep.log 2>&1 &
{ set +x; } 2>/dev/null
sweep=$!
until ls outputs/disk/*/unfinished/committed/*.checkpoint >/dev/null 2>&1; do
    if ! kill -0 $sweep 2>/dev/null; then
        cat sweep.log
        echo "the sweep ended before anything was committed" >&2
        exit 1
    fi
    sleep 0.5
done
squeue --format "%.10i %.10P %.10T %.6M %R"

job=$(squeue --noheader --states RUNNING --format %i | sort | head -1)
echo "== preempt job $job"
scontrol requeue "$job"
sleep 2
squeue --format "%.10i %.10P %.10T %.6M %R"
# SLURM keeps a requeued job back for two minutes: not here.
scontrol update jobid="$job" starttime=now

cancelled=$(squeue --noheader --states RUNNING --format %i | sort | head -1)
echo "== cancel job $cancelled"
scancel "$cancelled"

echo "== wait for the sweep"
wait $sweep || true
grep -v "accounting storage" sweep.log
echo "== what the preempted job said, in both of its lives"
grep -hE "srun|signal|slurmstepd" outputs/.submitit/*/"${job}"_0_log.{err,out}
grep -l resuming outputs/disk/*/log.txt
echo "== the same command again"
again || true
echo "== every step is there once"
${PYTHON:-python3} - "$steps" <<'CHECK'
import glob, json, pandas, sys
lives = {}
steps = int(sys.argv[1])
for run in sorted(glob.glob("outputs/disk/*/")):
    rows = pandas.read_parquet(run + "steps.parquet")["step"]
    lives[run] = len(json.load(open(run + "provenance.json"))["lives"])
    assert rows.is_unique and len(rows) == steps, f"{run}: a step is missing or there twice"
cut = sum(many > 1 for many in lives.values())
print(f"{len(lives)} runs, {cut} of them with a second life")
assert len(lives) == 30 and cut > 1, "no two runs had a second life"
CHECK
echo "== and once more"
again
