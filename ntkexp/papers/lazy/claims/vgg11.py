"""Figures C.3 and C.4: the statements of Figure 5.2, of VGG11. Where its network at alpha = 100 is
not lazy at the first loss at which two regimes are compared, they are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ntkexp.claims.claim import Claim
from ntkexp.papers.lazy.claims import noise, scores


def of_vgg11(claims: Sequence[Claim], kind: str, figure: str, network: str) -> Iterator[Claim]:
    """The claims on Figure 5.2 of a kind, of VGG11; two regimes are compared once both have come
    below the loss that others learn."""
    for claim in claims:
        if claim.figure == "5.2":
            yield replace(
                claim,
                id=claim.id.replace(f"fig52-{kind}", f"fig{figure.lower().replace('.', '')}"),
                figure=figure,
                experiments=(network, f"{network}_lazy"),
                horizon=noise.THROUGHOUT if noise.PREMISE in claim.number else claim.horizon,
                seen="VGG11 was judged apart from the networks of Figure 5.2",
            )


CLAIMS = (
    *of_vgg11(noise.CLAIMS, "noise", "C.3", noise.VGG),
    *of_vgg11(scores.CLAIMS, "scores", "C.4", scores.VGG),
)
