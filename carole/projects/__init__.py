"""The rules of a project: states, the one table of transitions, operations, tasks. Pure: no I/O.

`transitions` is the table; `operations` turns a `Project` into the next one with its audit entries, or refuses;
`tasks` derives a custodian's next task. The store applies what these return, in one transaction.
"""
