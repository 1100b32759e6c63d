"""Refuse a tag that is not the version of the package: `python check_tag.py v1.2.3`, in the root of the repository."""

import re
import sys
from pathlib import Path

text = Path("src/rotting/common/version.py").read_text("utf-8")
found = re.search(r'__version__ = "(.+)"', text)
if found is None or sys.argv[1] != f"v{found[1]}":
    sys.exit(f"the tag must be v{found[1] if found else '?'}, the version of the package, got {sys.argv[1]}")
