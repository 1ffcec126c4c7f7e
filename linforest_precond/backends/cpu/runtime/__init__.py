"""What every room uses and that uses none: compilation, hashes, atomics, small-block arithmetic."""

from . import stopwatch as stopwatch
