"""Published annotation files of pictures, made into tables for `lmprobe.amplify`.

Each reader returns a DataFrame with one row per image: `image_id`, `gender`, the labels, and
`gender_predicted` and `predicted.NAME` where predictions are given.
"""

from lmprobe.vision.celeba import celeba
from lmprobe.vision.coco import coco
from lmprobe.vision.generated import captions
from lmprobe.vision.imsitu import imsitu

__all__ = ["captions", "celeba", "coco", "imsitu"]
