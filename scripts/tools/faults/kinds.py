"""The kinds of campaign. Each disturbs a work and holds what is left against an undisturbed one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from ntkexp.scripts.tools.faults import machines
from ntkexp.scripts.tools.faults.campaign import SILENT_SECONDS, Campaign, Skipped
from ntkexp.scripts.tools.faults.lives import Life
from ntkexp.scripts.tools.faults.watch import Fault


def _lives_with(c: Campaign, action: str, most: int = 3) -> None:
    """Up to `most` disturbed lives of one work, then undisturbed ones."""
    work = c.pick_work()
    for _ in range(c.rng.randint(1, most)):
        words, fault = c.disturbed(work, action)
        if c.live(words, fault=fault).code == 0:
            break
    c.until_finished(work)
    c.compare(work)


def killed(c: Campaign) -> None:
    _lives_with(c, "kill")


def told_to_stop(c: Campaign) -> None:
    _lives_with(c, "signals")


def first_commit(c: Campaign) -> None:
    """Told to stop before anything was committed, and killed in the commit that follows."""
    work = c.pick_work("train", "train on images", "sweep")
    words = work.at(work.paces[-1])
    for _ in range(c.rng.randint(1, 2)):
        done = c.reference(work).operations[words]
        fault = Fault(
            at=c.rng.randint(1, len(done) // 2),
            action="signals",
            signals=c.signals()[: c.rng.randint(1, 2)],
            killed_after=c.rng.randint(1, 45),
            root=work.sweep,
        )
        c.notes.append(str(fault))
        c.live(words, fault=fault)
    c.until_finished(work)
    c.compare(work)


def disk_error(c: Campaign) -> None:
    _lives_with(c, "error", most=2)


def by_the_clock(c: Campaign) -> None:
    """Kills and signals from outside, at any time, also before there is a folder."""
    work = c.pick_work()
    for _ in range(c.rng.randint(1, 3)):
        life = c.life(c.words(work))
        life.start()
        if c.rng.random() < 0.8:
            life.wait_until("begun")
        time.sleep(c.rng.uniform(0, 1.1 * c.reference(work).seconds))
        numbers = c.signals() if c.rng.random() < 0.6 else ("SIGKILL",)
        c.notes.append("+".join(numbers))
        for number in numbers:
            life.send(signal.Signals[number])
            time.sleep(c.rng.choice((0.002, 0.02, 0.2)))
        c.counts["faults"] += 1
        # Sometimes the command is given again while jobs of a killed launcher still commit.
        if c.judge(life, strays=c.rng.random() < 0.7).code == 0:
            break
    c.until_finished(work)
    c.compare(work)


def cut_short_files(c: Campaign) -> None:
    """Every write beyond a size fails, so files are torn in the middle."""
    work = c.pick_work()
    size = round(2 ** c.rng.uniform(0, 14))
    c.notes.append(f"no file beyond {size} bytes")
    c.counts["faults"] += 1
    c.live(c.words(work), largest_file_bytes=size)
    c.until_finished(work)
    c.compare(work)


def full_disk(c: Campaign) -> None:
    """A small file system, and the same command when it has been given room."""
    c.outputs.mkdir()
    if not machines.may_mount(c.outputs):
        raise Skipped("this user may not mount a file system")
    work = c.pick_work()
    size = 4096 * c.rng.randint(2, 40 if work.sweep else 14)
    c.notes.append(f"a disk of {size} bytes")
    machines.mount_small(c.outputs, size)
    try:
        c.counts["faults"] += 1
        c.live(c.words(work))
        machines.enlarge(c.outputs)
        c.until_finished(work)
        c.compare(work)
    finally:
        machines.unmount(c.outputs)


def not_writable(c: Campaign) -> None:
    """A run on a read-only disk, or of another account: finished runs stay, others are refused."""
    c.outputs.mkdir()
    if os.geteuid() or not machines.may_mount(c.outputs):
        raise Skipped("this user may not mount a file system")
    work = c.pick_work()
    machines.mount_small(c.outputs, 64 << 20)
    try:
        finished = c.rng.random() < 0.5
        if finished:
            c.start_finished(work)
        else:
            c.start_interrupted(work)
        machine = c.rng.choice(("here", "account"))
        c.notes.append(f"{'finished' if finished else 'interrupted'}, machine: {machine}")
        if machine == "here":
            machines.make_read_only(c.outputs)
        else:
            machines.give_away(c.outputs)
        c.counts["faults"] += 1
        ending = c.live(c.words(work), machine=machine)
        if finished and ending.code != 0:
            c.count("stuck", f"code {ending.code} for a finished run: {ending.err.strip()[:200]}")
        # A kill at the very end leaves nothing to write.
        elif not finished and ending.code not in ((0, 1, 2) if work.sweep else (0, 2)):
            c.count("unclear", f"code {ending.code}: {ending.err.strip()[:200]}")
        machines.enlarge(c.outputs)
        c.until_finished(work)
        c.compare(work)
    finally:
        machines.unmount(c.outputs)


def rerun_cut_short(c: Campaign) -> None:
    """A finished run is done again, and that dies anywhere; then with the flag again or without."""
    work = c.pick_work()
    c.start_finished(work)
    words, fault = c.disturbed(work, c.rng.choice(("kill", "error", "signals")), rerun=True)
    c.live(words, fault=fault)
    c.until_finished(work, rerun=c.rng.random() < 0.3)
    c.compare(work)


def damaged(c: Campaign) -> None:
    """One file of an interrupted run is damaged."""
    work = c.pick_work()
    if not c.start_interrupted(work):
        raise Skipped("it was done before it could be interrupted")
    _damage_one(c, "*")
    _go_on_or_refuse(c, c.words(work))
    c.until_finished(work, rerun=c.counts["refused"] > 0)
    c.compare(work)


def damaged_finished(c: Campaign) -> None:
    """One file of a finished run is damaged: read it, or ask for it again."""
    work = c.pick_work()
    c.start_finished(work)
    _damage_one(c, "*.parquet", "*.json", "*.yaml")
    refused = _go_on_or_refuse(c, c.words(work))
    if not refused and (refusal := c.compare_loaded(work)):
        _expect_way_out(c, refusal)
    c.until_finished(work, rerun=True)
    c.compare(work)


def part_missing(c: Campaign) -> None:
    work = c.pick_work("train", "train on images", "sweep")
    if not c.start_interrupted(work):
        raise Skipped("it was done before it could be interrupted")
    part = c.some_file("unfinished/committed/*.parquet")
    if part is None:
        raise Skipped("there was no part yet")
    c.notes.append(f"removed {part.relative_to(c.outputs)}")
    part.unlink()
    c.counts["faults"] += 1
    _go_on_or_refuse(c, c.words(work))
    c.until_finished(work, rerun=c.counts["refused"] > 0)
    c.compare(work)


def foreign_part(c: Campaign) -> None:
    """A parquet file that no run wrote lies among the parts, of an interrupted run or of none."""
    work = c.pick_work("train", "train on images", "sweep")
    c.start_interrupted(work)
    folders = sorted(c.outputs.glob("*/*/unfinished/committed"))
    if not folders:
        raise Skipped("there was no folder of commits")
    table = c.rng.choice(sorted(c.reference(work).home.glob("outputs/*/*/*.parquet")))
    names = ("foo.parquet", f"foo.{table.name}", f"99999999.0001.{table.name}")
    path = c.rng.choice(folders) / c.rng.choice(names)
    c.notes.append(f"put there {path.relative_to(c.outputs)}")
    path.write_bytes(table.read_bytes())
    c.put_there |= {str(path.relative_to(c.outputs)), str(path.parent.relative_to(c.outputs))}
    c.counts["faults"] += 1
    _go_on_or_refuse(c, c.words(work))
    c.until_finished(work, rerun=c.counts["refused"] > 0)
    c.compare(work)


def other_data(c: Campaign) -> None:
    """A run is interrupted on one set of images, and the command given with another in place."""
    work = c.pick_work("train on images")
    if c.rng.random() < 0.3:
        c.notes.append("finished with the first images")
        c.start_finished(work)
    else:
        c.start_interrupted(work)
    c.counts["faults"] += 1
    ending = c.live(c.words(work), environment=c.environment(1))
    if ending.code == 0:
        # Only a run that had no commit yet may begin anew.
        c.compare(work, data=1)
        return
    _expect_refusal(c, ending.code, ending.err)
    c.until_finished(work)
    c.compare(work)


def two_at_once(c: Campaign) -> None:
    """One command, twice at once: one life works, the other refuses or finds it done."""
    work = c.pick_work()
    first, second = c.life(c.words(work)), c.life(c.words(work))
    first.start()
    first.wait_until("begun")
    time.sleep(c.rng.uniform(0, c.reference(work).seconds))
    second.start()
    c.counts["faults"] += 1
    for ending in (c.judge(first, strays=False), c.judge(second, strays=False)):
        if ending.code not in (0, 1 if work.sweep else 0, 2):
            c.count("unclear", f"code {ending.code}: {ending.err.strip()[:200]}")
    c.until_finished(work)
    c.compare(work)


def done_meanwhile(c: Campaign) -> None:
    """A process has asked whether its run is done, and another finishes the run before the first
    has its lock: it is done once, and stays done."""
    work = c.pick_work("train", "train on images", "study", "members")
    words = c.words(work)
    # The first thing that a life does is to make the folder in which its lock will lie.
    first = _stopped(c, words, Fault(1, "stop"))
    c.live(c.words(work))
    contents = dict(c.contents())
    first.go_on()
    ending = c.judge(first)
    if ending.code != 0 or dict(c.contents()) != contents:
        c.count("differing", f"code {ending.code}, and what was finished has changed")
    c.until_finished(work)
    c.compare(work)


def beside_a_container(c: Campaign) -> None:
    """A process of another container of this machine refuses a run that another works on."""
    if not machines.possible():
        raise Skipped("this user may not make containers")
    work = c.pick_work("train", "train on images", "study")
    first = _stopped(c, *c.disturbed(work, "stop"))
    working = any("status" in o.path for o in first.operations_so_far())
    second = c.live(c.words(work), machine="container")
    if working and "finished " in second.out:
        c.count("evicted", "a living owner in another container lost its run")
    first.go_on()
    c.judge(first)
    c.until_finished(work)
    c.compare(work)


def lock_lost(c: Campaign) -> None:
    """A process is stopped for long, another machine takes its run over, the first goes on."""
    if not machines.possible():
        raise Skipped("this user may not make another machine")
    c.silent_seconds = SILENT_SECONDS
    work = c.pick_work("train", "train on images", "study")
    first = _stopped(c, *c.disturbed(work, "stop"))
    time.sleep(1.5 * SILENT_SECONDS)
    how = c.rng.choice(("", "kill", "stop"))
    words, fault = c.disturbed(work, how) if how else (c.words(work), Fault())
    if how == "stop":
        second = _stopped(c, words, fault, machine="elsewhere")
        first.go_on()
        c.judge(first)
        second.go_on()
        c.judge(second)
    else:
        c.live(words, fault=fault, machine="elsewhere")
        first.go_on()
        c.judge(first)
    time.sleep(SILENT_SECONDS)
    c.until_finished(work)
    c.compare(work)


def read_beside_damage(c: Campaign) -> None:
    """`ntkexp list` and its like tell of the other runs when one is damaged."""
    work = c.pick_work("sweep")
    c.start_finished(work)
    _damage_one(c, "*.json", "*.yaml")
    command = c.rng.choice((("list",), ("claims",), ("report",), ("train", "-m", "--dry-run")))
    words = (*command, *c.words(work)[2:]) if "--dry-run" in command else command
    c.notes.append(" ".join(words[:3]))
    # The runs of the campaign alone are read, not those of the reference results.
    ending = c.live(words, environment={**c.environment(0), "NTKEXP_REFERENCE": ""})
    if ending.code != 0 and command != ("claims",):
        c.count("stuck", f"code {ending.code} for one damaged run: {ending.err.strip()[:200]}")


KINDS: dict[str, Callable[[Campaign], None]] = {
    kind.__name__: kind
    for kind in (
        killed,
        told_to_stop,
        first_commit,
        disk_error,
        by_the_clock,
        cut_short_files,
        full_disk,
        not_writable,
        rerun_cut_short,
        damaged,
        damaged_finished,
        part_missing,
        foreign_part,
        other_data,
        two_at_once,
        done_meanwhile,
        beside_a_container,
        lock_lost,
        read_beside_damage,
    )
}


def _stopped(c: Campaign, words: tuple[str, ...], fault: Fault, machine: str = "here") -> Life:
    life = c.life(words, fault=fault, machine=machine)
    life.start()
    life.wait_until("stopped")
    return life


def _damage_one(c: Campaign, *patterns: str) -> None:
    path = c.some_file(*patterns)
    if path is None:
        raise Skipped("there was nothing to damage")
    how = c.rng.choice(("empty", "torn", "garbage", "[]", "missing", "flipped"))
    whole = path.read_bytes()
    if how == "missing" or not whole:
        path.unlink()
    elif how == "flipped":
        # Nine bytes in ten of a file of ours are numbers: any of them.
        place = c.rng.randrange(len(whole))
        bit = 1 << c.rng.randrange(8)
        path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
    else:
        path.write_bytes(
            {
                "empty": b"",
                "torn": whole[: len(whole) // 2],
                "garbage": c.rng.randbytes(len(whole)),
                "[]": b"[]",
            }[how]
        )
    c.notes.append(f"{how}: {path.relative_to(c.outputs)}")
    c.counts["faults"] += 1
    c.hits[f"{how} file"] += 1


def _go_on_or_refuse(c: Campaign, words: tuple[str, ...]) -> bool:
    """A command on damaged files: it ends well, or says in a line what to do."""
    ending = c.live(words)
    if ending.code == 0:
        return False
    c.counts["refused"] += 1
    if "-m" in words:
        _expect_way_out(c, ending.out + ending.err)
    else:
        _expect_refusal(c, ending.code, ending.err)
    return True


def _expect_refusal(c: Campaign, code: int, message: str) -> None:
    if code != 2:
        c.count("unclear", f"code {code}, expected 2: {message.strip()[:200]}")
    _expect_way_out(c, message)


def _expect_way_out(c: Campaign, message: str) -> None:
    if not any(word in message for word in ("rerun", "remove", "delete", "NTKEXP_DATA")):
        c.count("unclear", f"names no way out: {message.strip()[:200]}")
