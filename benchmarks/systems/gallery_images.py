"""Systems of the gallery that PyMatting assembles: alpha mattes of a made-up image.

Every function takes the pixels along a side and returns an `Assembled`.
"""

from __future__ import annotations

import numpy as np
import pymatting
import scipy.sparse as sp

from benchmarks.systems.assembled import Assembled, assembled

# How much a known pixel counts: PyMatting's default, and that of A2.
KNOWN, KNOWN_LATER = 100.0, 50.0


def picture(pixels):
    """A soft disc with stripes before a noisy gradient, and its trimap: 1 inside, 0 outside, 1/2 unknown."""
    y, x = np.mgrid[:pixels, :pixels] / pixels - 0.5
    radius = np.hypot(x, y) + 0.03 * np.sin(9 * np.arctan2(y, x))
    alpha = np.clip((0.33 - radius) / 0.1, 0, 1)[..., None]
    random = np.random.default_rng(0)
    front = np.stack([0.8 + 0.2 * np.sin(40 * x), 0.4 + 0.2 * np.sin(30 * y), 0.2 + 0 * x], axis=-1)
    back = np.stack([0.2 + 0.3 * x, 0.5 + 0.3 * y, 0.7 + 0 * x], axis=-1)
    image = alpha * front + (1 - alpha) * back + 0.02 * random.standard_normal((pixels, pixels, 3))
    trimap = np.where(radius < 0.2, 1.0, np.where(radius > 0.4, 0.0, 0.5))
    return np.clip(image, 0, 1), trimap


def matte(pixels, laplacian, **options) -> Assembled:
    image, trimap = picture(pixels)
    L = sp.csr_array(laplacian(image, **options))
    known = np.where(trimap == 0.5, 0.0, 1.0).ravel()
    A, A2 = (L + weight * sp.diags_array(known) for weight in (KNOWN, KNOWN_LATER))
    b = KNOWN * known * (trimap == 1).ravel()
    return assembled(A, b, A2, f"{laplacian.__name__} of a synthetic image")


# The function, and the sizes of the small and of the medium system.
SYSTEMS = {
    "closed-form matting": (lambda n: matte(n, pymatting.cf_laplacian), 24, 80),
    "closed-form matting, radius 2": (lambda n: matte(n, pymatting.cf_laplacian, radius=2), 24, 44),
    "k nearest neighbours": (lambda n: matte(n, pymatting.knn_laplacian), 24, 80),
    "random walk": (lambda n: matte(n, pymatting.rw_laplacian), 24, 90),
}
