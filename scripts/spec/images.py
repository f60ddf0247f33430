#!/usr/bin/env python3
"""The tag of a sandbox image is a hash of what it is made from, so that an image that is there need not be built again.

    images.py NAME   prints the tag of deploy/sandbox-images/NAME.Dockerfile
"""

import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Each image, and the one that it is built on.
IMAGES: dict[str, str | None] = {"code": None, "browser": "code"}


def tag(name: str, root: Path = ROOT) -> str:
    dockerfile = (root / "deploy/sandbox-images" / f"{name}.Dockerfile").read_bytes()
    below = IMAGES[name]
    return hashlib.sha256((tag(below, root).encode() if below else b"") + dockerfile).hexdigest()[:12]


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in IMAGES:
        sys.exit(__doc__)
    print(tag(sys.argv[1]))
