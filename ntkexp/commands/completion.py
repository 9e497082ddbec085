"""The tab key: scripts for three shells, and the candidates they ask for."""

from __future__ import annotations

from collections.abc import Sequence

from ntkexp.errors import UserError
from ntkexp.usage import USAGES

ALWAYS = ("--help",)

BASH = """\
_ntkexp() {
    local line="${COMP_LINE:0:COMP_POINT}"
    local word="${line##* }"
    local IFS=$'\\n'
    COMPREPLY=($(compgen -W "$(ntkexp complete "$line" 2>/dev/null)" -- "$word"))
    # Bash counts `=` as the end of a word and expects only what follows it.
    case "$word" in *=*) COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*=}"}"}");; esac
}
complete -o nospace -o default -F _ntkexp ntkexp
"""
ZSH = """\
_ntkexp() {
    local -a found
    found=("${(@f)$(ntkexp complete "$LBUFFER" 2>/dev/null)}")
    compadd -S '' -- $found
}
compdef _ntkexp ntkexp
"""
FISH = """\
complete -c ntkexp -f -a '(ntkexp complete (commandline -cp) 2>/dev/null)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def script(words: Sequence[str]) -> str:
    """The script of one shell: `eval "$(ntkexp completion bash)"`."""
    if len(words) != 1 or words[0] not in SCRIPTS:
        raise UserError(
            f"{' '.join(['ntkexp completion', *words])}: expected one of {', '.join(SCRIPTS)}"
        )
    return SCRIPTS[words[0]].rstrip()


def complete(words: Sequence[str]) -> str:
    """The candidates for a line, one below the other."""
    return "\n".join(candidates(words[0]))


def flags(command: str) -> list[str]:
    """Every flag of a subcommand, in order of their names."""
    if command in ("train", "study"):
        from ntkexp.commands.application import all_flags

        return sorted({*all_flags(), *ALWAYS})
    words = USAGES[command].flags if command in USAGES else ()
    return sorted({*(flag.split()[0] for flag in words if flag.startswith("-")), *ALWAYS})


def _arguments(command: str) -> list[str]:
    """The words that a subcommand takes, without flags and keys."""
    if command == "completion":
        return [*SCRIPTS]
    if command == "list":
        from ntkexp.experiments import experiments

        return [experiment.name for experiment in experiments()]
    if command == "figures":
        from ntkexp.papers.scripts import scripts

        names = ((script.paper, script.figure) for script in scripts())
        return list(dict.fromkeys(name for pair in names for name in pair if name))
    if command == "show":
        from ntkexp.results.folders import OUTPUTS, runs

        return [run.name for run in runs(OUTPUTS)]
    if command == "data":
        from ntkexp.data.images.sources import image_sets

        return [*image_sets()]
    return []


def candidates(line: str) -> list[str]:
    """The words that may stand where `line`, which begins with the program's name, ends."""
    words = line.split()
    fresh = line.endswith(" ")
    if len(words) < 2 or (len(words) == 2 and not fresh):
        start = words[1] if len(words) == 2 else ""
        commands = [*USAGES, "--help", "--version"]
        return [command for command in commands if command.startswith(start)]
    command, rest = words[1], words[2:]
    last = "" if fresh or not rest else rest[-1]
    if last.startswith("-"):
        return [flag for flag in flags(command) if flag.startswith(last)]
    if command not in ("train", "study"):
        return [name for name in _arguments(command) if name.startswith(last)]
    group, sign, start = last.partition("=")
    if sign and group.lstrip("+") == "exp":
        # Hydra offers no names with a slash.
        from ntkexp.compose.overrides import options_of

        return [f"{group}={name}" for name in options_of("exp") if name.startswith(start)]
    from ntkexp.commands import application

    overrides = [word for word in rest if not word.startswith("-")]
    if sign and "." in group and (values := application.choices(command, overrides)):
        return [f"{group}={value}" for value in values if value.startswith(start)]
    return application.complete(command, " ".join(overrides) + (" " if fresh else ""))
