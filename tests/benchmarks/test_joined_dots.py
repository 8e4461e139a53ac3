"""Dots joined into few paths: none lost, none moved, and less to send."""

import re

import altair as alt
import numpy as np

from gemel.risk.report import draw
from research._smith2011_charts import with_joined_dots


def test_every_dot_is_drawn_where_it_was():
    rng = np.random.default_rng(1)
    values = [{"x": round(float(x), 3), "y": round(float(y), 3)} for x, y in rng.random((300, 2))]
    panel = (
        alt.Chart(alt.InlineData(values=values))
        .mark_point(filled=True, size=9, opacity=0.35, color="#0d6a78")
        .encode(x="x:Q", y="y:Q")
    )
    plain = str(draw(alt.hconcat(panel, panel), "dots", "dots"))
    joined = with_joined_dots(plain)
    before = [(float(x), float(y)) for x, y in re.findall(r"translate\(([\d.]+),([\d.]+)\)\" d=\"M1.5,0A", plain)]
    after = [(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)h0", joined)]
    assert len(before) == len(after) == 600
    np.testing.assert_allclose(np.sort(before, axis=0), np.sort(after, axis=0), atol=0.051)
    assert len(re.findall(r'stroke-linecap="round" opacity="0.35"', joined)) == 20
    assert len(joined) < len(plain) / 3
    assert with_joined_dots(joined) == joined
