"""Published annotation files of pictures, made into tables for `lmprobe.amplify`.

Each reader returns a DataFrame with one row per image: `image_id`, `gender`, the labels, and
`gender_predicted` and `predicted.NAME` where predictions are given.
"""

from lmprobe.tabular.annotations import captions, celeba, coco, imsitu

__all__ = ["captions", "celeba", "coco", "imsitu"]
