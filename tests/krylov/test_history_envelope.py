"""Curves that oscillate are drawn as bands between their extremes."""

import numpy as np
import pytest

from linforest_precond.solvers.residual_bands import draw_curve, envelope, extremes, oscillates

STEPS = np.arange(900)
SMOOTH = 0.98**STEPS
ROUGH = SMOOTH * 10 ** (np.random.default_rng(3).random(900) * 2 - 1)


class TestOscillates:
    @pytest.mark.parametrize(
        "values",
        [
            SMOOTH,
            ROUGH[:100],
            SMOOTH * (1 + 0.1 * (-1.0) ** STEPS),
            [],
            [1.0],
            np.full(900, np.nan),
            np.zeros(900),
        ],
        ids=["smooth", "few points", "ripples", "nothing", "one", "unknown", "zero"],
    )
    def test_curves_that_do_not(self, values):
        assert not oscillates(values)

    @pytest.mark.parametrize(
        "values", [ROUGH, np.where(STEPS % 7 == 0, np.nan, ROUGH)], ids=["rough", "holes"]
    )
    def test_curves_that_do(self, values):
        assert oscillates(values)

    def test_a_slow_wave_is_a_curve(self):
        assert not oscillates(10 ** np.sin(STEPS / 60))


@pytest.mark.parametrize("values", [ROUGH, SMOOTH, np.where(STEPS % 5 == 0, np.nan, ROUGH), [2.0], []])
@pytest.mark.parametrize("stretches", [1, 7, 5000])
def test_extremes_are_kept(values, stretches):
    kept = extremes(values, stretches)
    values = np.asarray(values)
    assert (np.diff(kept) > 0).all() and kept.size <= 2 * stretches + 2
    if values.size:
        assert kept[0] == 0 and kept[-1] == values.size - 1
        assert np.nanmin(values[kept]) == np.nanmin(values) and np.nanmax(values[kept]) == np.nanmax(values)


def test_the_envelope_holds_the_curve():
    places, low, high, middle = envelope(STEPS, ROUGH, 30)
    assert (np.diff(places) > 0).all() and ((low <= middle) & (middle <= high)).all()
    for part, least, most in zip(np.array_split(ROUGH, 30), low, high):
        assert least == part.min() and most == part.max()


def test_a_band_is_drawn_where_it_helps():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    for values, bands in ((ROUGH, 1), (SMOOTH, 0)):
        ax = Figure().add_subplot()
        draw_curve(ax, STEPS.tolist(), values.tolist(), color="#0072B2")
        (line,) = ax.lines
        assert len(ax.collections) == bands
        assert (line.get_xydata()[0] == (0, values[0])).all()  # its ends are the curve's own
        assert (line.get_xydata()[-1] == (899, values[-1])).all()
        assert (line.get_xdata().size < 70) == bool(bands)
