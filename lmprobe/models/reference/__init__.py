"""Small BERT models with a known truth, and all that made them.

`grammar` fills sentence frames, `rates` says how often each pronoun goes with each
occupation, `corpus` draws the text, `vocabulary` and `masking` prepare it, `train` makes the
checkpoint and `truth` writes down what it must show. The folders `faithful` and `amplified`
are ordinary checkpoints: measuring standards, not models of English.
"""

from __future__ import annotations
