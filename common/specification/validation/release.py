"""Checks of the section `release` against the model and the latent step, of which it grants what they estimate."""

from __future__ import annotations

from collections.abc import Iterator

from gemel.common.parties import Side
from gemel.common.specification.model.content import ReleaseSpec
from gemel.common.specification.model.latent import LatentSpec
from gemel.common.specification.model.schemes import SCHEMES
from gemel.common.validation_issue import ValidationIssue


def release_issues(release: ReleaseSpec, latent: LatentSpec | None, scheme: str) -> Iterator[ValidationIssue]:
    """A joint distribution that does not exist, or is granted to a custodian that receives nothing; exact
    probabilities of no pairs; draws of a model that has none."""
    path = ("release", "joint")
    if release.joint != "none" and latent is None:
        what = "without a latent step there is no joint distribution to receive"
        yield ValidationIssue(path, what, release.joint, "drop it, or add the section `latent`")
    for side in Side:
        if release.joint_to(side) and getattr(release, str(side)) == "nothing":
            what = f"{side} receives nothing, and therefore no joint distribution"
            yield ValidationIssue(path, what, release.joint, f"grant {side} statistics at least")
    for side in Side:
        if release.exact_to(side) and side not in release.recipients_of_pairs:
            what = f"{side} receives no pairs, and therefore no probabilities of pairs"
            where = ("release", "exact_probabilities")
            yield ValidationIssue(where, what, release.exact_probabilities, f"grant {side} links, or leave {side} out")
    for side in Side:
        if getattr(release, str(side)) != "draws":
            continue
        if latent is not None:
            what = "linkages are drawn from the Fellegi-Sunter model, not from that of the latent step"
            yield ValidationIssue(("release", str(side)), what, "draws", "grant links or pairs, or drop `latent`")
        if not SCHEMES[scheme].calibrated:
            what = f"linkages are drawn by their probabilities, and those of scheme {scheme} are not calibrated"
            yield ValidationIssue(("release", str(side)), what, "draws", "grant links or pairs, or change the scheme")
