"""What a project is and how it moves: states, the one table of transitions, operations, tasks. Pure: no I/O.

`transitions` is the table; `operations` turns a `Project` into the next one with its audit entries, or refuses;
`tasks` derives what a custodian is to do. The store applies what these return, in one transaction.
"""

from tryst.carole.projects.project import Approval, Judgement, KeyReport, Project, Run, Upload
from tryst.carole.projects.state import Grant, JoinedBy, LetterKind, Policy, RunState, State

__all__ = [
    "Approval",
    "Grant",
    "JoinedBy",
    "Judgement",
    "KeyReport",
    "LetterKind",
    "Policy",
    "Project",
    "Run",
    "RunState",
    "State",
    "Upload",
]
