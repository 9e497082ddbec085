"""The tab key: scripts for three shells, and the candidates they ask for."""

from __future__ import annotations

from ntkexp.errors import UserError

COMMANDS = ("train", "study", "list", "show", "data", "completion", "--help", "--version")
FLAGS = ("-m", "--rerun", "--cfg", "--help")

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


def script(*shells: str) -> str:
    """The script of one shell: `eval "$(ntkexp completion bash)"`."""
    if len(shells) != 1 or shells[0] not in SCRIPTS:
        raise UserError(
            f"ntkexp completion {' '.join(shells)}: expected one of {', '.join(SCRIPTS)}"
        )
    return SCRIPTS[shells[0]]


def candidates(line: str) -> list[str]:
    """What may stand where `line` ends; it begins with the program's name."""
    words = line.split()
    fresh = line.endswith(" ")
    if len(words) < 2 or (len(words) == 2 and not fresh):
        start = words[1] if len(words) == 2 else ""
        return [command for command in COMMANDS if command.startswith(start)]
    command, rest = words[1], words[2:]
    last = "" if fresh or not rest else rest[-1]
    if command not in ("train", "study"):
        return [shell for shell in SCRIPTS if shell.startswith(last)] * (command == "completion")
    if last.startswith("-"):
        return [flag for flag in FLAGS if flag.startswith(last)]
    group, sign, start = last.partition("=")
    if sign and group.lstrip("+") == "exp":
        # Hydra offers no names with a slash.
        from ntkexp.compose.explain import options_of

        return [f"{group}={name}" for name in options_of("exp") if name.startswith(start)]
    from ntkexp.compose import application

    overrides = [word for word in rest if not word.startswith("-")]
    return application.complete(command, " ".join(overrides) + (" " if fresh else ""))
