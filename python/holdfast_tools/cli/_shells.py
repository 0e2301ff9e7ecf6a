"""How completions reach the shells: names of locks are data, which no shell may read as a command.

zsh and fish quote what a completion returns; bash inserts it as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from click.shell_completion import BashComplete, FishComplete, add_completion_class

if TYPE_CHECKING:
    from typing import Any

    from click.shell_completion import CompletionItem

__all__ = ["add_shells"]

#: What bash reads as it stands, anywhere in a word.
PLAIN: Final = re.compile(r"([^\w.:/@%+,=-])")

BASH: Final = """\
%(complete_func)s() {
    local IFS=$'\\n' response line
    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \\
        %(complete_var)s=bash_complete "$1")
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            plain,*) COMPREPLY+=("${line#plain,}") ;;
            dir,*) compopt -o dirnames ;;
            file,*) compopt -o default ;;
        esac
    done <<< "$response"
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

FISH: Final = """\
function %(complete_func)s;
    set -l response (env %(complete_var)s=fish_complete \\
        COMP_WORDS=(commandline -cp | string collect) \\
        COMP_CWORD=(commandline -t | string collect) %(prog_name)s);
    for completion in $response;
        set -l parts (string split --max 1 "," -- $completion);
        switch $parts[1];
            case dir;
                __fish_complete_directories $parts[2];
            case file;
                __fish_complete_path $parts[2];
            case plain;
                printf "%%s\\n" $parts[2];
        end;
    end;
end;
complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)";
"""


class Bash(BashComplete):
    """Quotes what bash would read."""

    source_template = BASH

    def format_completion(self, item: CompletionItem[Any]) -> str:
        return f"{item.type},{PLAIN.sub(_escaped, item.value)}"


class Fish(FishComplete):
    """Keeps what follows a comma in a name."""

    source_template = FISH


def _escaped(match: re.Match[str]) -> str:
    return "\\" + match[1]


def add_shells() -> None:
    """Use these from now on."""
    add_completion_class(Bash)
    add_completion_class(Fish)
