"""The tab key: scripts for three shells, and the candidates they ask for."""

from collections.abc import Iterable
from dataclasses import dataclass

from ntkexp.commands.command import FILES, Command, find, words
from ntkexp.errors import UserError

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


@dataclass(eq=False, repr=False)
class Completion(Command):
    """a script for the shell's tab key"""

    call = "completion bash|zsh|fish"

    names: list[str] = words()

    def execute(self) -> str:
        """The script of one shell: `eval "$(ntkexp completion bash)"`."""
        if len(self.names) != 1 or self.names[0] not in SCRIPTS:
            called = " ".join(["ntkexp completion", *self.names])
            raise UserError(f"{called}: expected one of {', '.join(SCRIPTS)}")
        return SCRIPTS[self.names[0]].rstrip()

    @classmethod
    def candidates(cls, typed: list[str]) -> list[str]:
        return [*SCRIPTS]


def candidates(line: str) -> list[str]:
    """The words that may stand where `line`, which begins with the program's name, ends."""
    words = line.split()[1:] + [""] * line.endswith(" ")
    last = words[-1] if words else ""
    if len(words) < 2:
        offered: Iterable[str] = [*FILES, "--help", "--version"]
    elif words[0] not in FILES:
        offered = ["--help"] * last.startswith("-")
    elif last.startswith("-"):
        offered = sorted({*find(words[0]).flag_words(), "--help"})
    else:
        typed = [word for word in words[1:] if not word.startswith("-")]
        offered = find(words[0]).candidates(typed)
    return [word for word in offered if word.startswith(last)]
