"""The effect of each action on a project: from the project before to the project after it, with its audit entry.

Every function accepts replays: an action already done is recognised and changes nothing (`Outcome.entries` is then
empty), because a caller whose reply was lost must be able to repeat its request. The same request with *other* content
is refused. Details of an entry are names, counts and digests; never a value, an agreement message or a key.
"""

from gemel.carole.projects.operations.consent import (
    MAX_MESSAGE_BYTES,
    amend,
    approve,
    hand_over,
    key_mismatch,
    open_epoch,
    post_message,
    report_keys,
    take_over,
)
from gemel.carole.projects.operations.contribution import begin_upload, commit_upload, decline, expire_upload
from gemel.carole.projects.operations.linking import (
    MAX_ATTEMPTS,
    Interruption,
    fail_run,
    finish_run,
    join_rows,
    request_row_handles,
    requeue_run,
    require_waiting,
    resolve_run,
    start_run,
    submit_row_handles,
    take_run,
)
from gemel.carole.projects.operations.outcome import Detail, Entry, Outcome
from gemel.carole.projects.operations.release import (
    acknowledge,
    decide_restore,
    erase,
    expire_result,
    override,
    receive_variables,
    refuse,
    require_receivable,
    require_sendable,
    send_variables,
)

__all__ = [
    "MAX_ATTEMPTS",
    "MAX_MESSAGE_BYTES",
    "Detail",
    "Entry",
    "Interruption",
    "Outcome",
    "acknowledge",
    "amend",
    "approve",
    "begin_upload",
    "commit_upload",
    "decide_restore",
    "decline",
    "erase",
    "expire_result",
    "expire_upload",
    "fail_run",
    "finish_run",
    "hand_over",
    "join_rows",
    "key_mismatch",
    "open_epoch",
    "override",
    "post_message",
    "receive_variables",
    "refuse",
    "report_keys",
    "request_row_handles",
    "requeue_run",
    "require_receivable",
    "require_sendable",
    "require_waiting",
    "resolve_run",
    "send_variables",
    "start_run",
    "submit_row_handles",
    "take_over",
    "take_run",
]
