"""`gitops completion`: the script by which a shell completes commands, options and names.

A script only asks `gitops __complete WORDS...` and shows what it answers, so it stays right when
commands are added: see cli/completion.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import typer

from cli import output
from cli.command import new_app

app = new_app()


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@app.command(epilog="Exit codes: 0 printed, 2 wrong usage.")
def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print the script that completes commands, options and names in a shell.

    Names of applications, agents and projects are those of the service one is logged in to.
    """
    output.text(SCRIPTS[shell].strip())


_BASH = r"""
_gitops() {
    local line=${COMP_LINE:0:COMP_POINT} row words
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    local typed=${words[-1]} kept=""
    # Readline breaks words at : and = as well: what stands before them is typed already.
    [[ $COMP_WORDBREAKS == *:* ]] && kept=${typed%"${typed##*[:=]}"}
    COMPREPLY=()
    while IFS= read -r row; do
        if [[ $row == :files ]]; then
            compopt -o default
        else
            row=${row%%$'\t'*}
            COMPREPLY+=("${row#"$kept"}")
        fi
    done < <(gitops __complete "${words[@]:1}" 2>/dev/null)
}
complete -F _gitops gitops
"""

_ZSH = r"""
#compdef gitops
_gitops() {
    local row
    local -a rows
    for row in "${(@f)$(gitops __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -z $row ]] && continue
        if [[ $row == :files ]]; then
            _files
            return
        fi
        rows+=("${${row%%$'\t'*}//:/\\:}:${${row#*$'\t'}//$'\n'/ }")
    done
    _describe -t values gitops rows
}
if [[ $funcstack[1] == _gitops ]]; then
    _gitops "$@"
else
    compdef _gitops gitops
fi
"""

_FISH = r"""
function __gitops_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l typed (commandline -ct)
    set -l rows (gitops __complete $words "$typed" 2>/dev/null)
    if contains -- :files $rows
        __fish_complete_path "$typed"
    else if set -q rows[1]
        printf '%s\n' $rows
    end
end
complete -c gitops -f -a '(__gitops_complete)'
"""

SCRIPTS: Mapping[Shell, str] = {Shell.BASH: _BASH, Shell.ZSH: _ZSH, Shell.FISH: _FISH}
