"""The effect of each action on a project: from the project before to the project after it, with its audit entry.

Every function accepts replays: an action already done is recognised and changes nothing (`Outcome.entries` is then
empty), because a caller whose reply was lost must be able to repeat its request. The same request with *other* content
is refused. Details of an entry are names, counts and digests; never a value, an agreement message or a key.
"""
