"""Checks of the section `release` against the latent step, whose joint distribution it grants."""

from __future__ import annotations

from collections.abc import Iterator

from tryst.common.parties import Side
from tryst.common.specification.model.content import ReleaseSpec
from tryst.common.specification.model.latent import LatentSpec
from tryst.common.validation_issue import ValidationIssue


def release_issues(release: ReleaseSpec, latent: LatentSpec | None) -> Iterator[ValidationIssue]:
    """A joint distribution that does not exist, or is granted to a custodian that receives nothing."""
    path = ("release", "joint")
    if release.joint != "none" and latent is None:
        what = "without a latent step there is no joint distribution to receive"
        yield ValidationIssue(path, what, release.joint, "drop it, or add the section `latent`")
    for side in Side:
        if release.joint_to(side) and getattr(release, str(side)) == "nothing":
            what = f"{side} receives nothing, and therefore no joint distribution"
            yield ValidationIssue(path, what, release.joint, f"grant {side} statistics at least")
