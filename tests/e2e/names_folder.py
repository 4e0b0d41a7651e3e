#!/usr/bin/env python3
"""Says which files below a folder name another folder, or something that lies in it.

Usage: names_folder.py BELOW FOLDER...      prints FILE: the name found; exit 1 if there is any

The text of a folder's path alone proves nothing where that path is short: "/src" stands in "/usr/src", in "./googletest/src"
and in "/srcs". A name counts where a path begins there, and where it ends there or goes on with something that is in the folder.
"""
import os
import re
import sys

PATH = rb"[\w.+~@/-]"


def named(text, folder, entries):
    """The first name of `folder` in `text`, or None."""
    for m in re.finditer(re.escape(folder), text):
        before = re.search(PATH + rb"*\Z", text[max(0, m.start() - 4096):m.start()]).group()
        if before.strip(b"/") and not re.fullmatch(rb"-[A-Za-z]+", before):  # "-I/src" begins a path
            continue
        after = re.match(PATH + rb"*", text[m.end():m.end() + 4096]).group()
        if after and not after.startswith(b"/"):
            continue
        first = after.strip(b"/").split(b"/")[0]
        if not first or first in entries:
            return folder + after
    return None


def files(below):
    for root, _, names in os.walk(below):
        for name in sorted(names):
            path = os.path.join(root, name)
            if os.path.isfile(path):
                yield path


def main():
    below, folders = sys.argv[1], [f.rstrip("/") for f in sys.argv[2:]]
    known = [(os.fsencode(f), {os.fsencode(e) for e in os.listdir(f)} if os.path.isdir(f) else None) for f in folders]
    found = 0
    for path in files(below):
        with open(path, "rb") as f:
            text = f.read()
        for folder, entries in known:
            name = named(text, folder, Anything() if entries is None else entries)
            if name:
                print(f"{path}: {os.fsdecode(name)}")
                found += 1
    return 1 if found else 0


class Anything:
    """The entries of a folder that is gone: whatever is said to lie in it."""

    def __contains__(self, _):
        return True


if __name__ == "__main__":
    sys.exit(main())
