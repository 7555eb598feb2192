#!/bin/sh
# Makes the virtual environment .venv beside this checkout and installs ptoasm into it: sh tools/venv.sh [. | '.[dev]']
# Debian ships Python without the part that venv needs; it is installed where it is missing.
set -eu
cd "$(dirname "$0")/.."
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
if ! [ -x .venv/bin/pip ]; then
    python3 -m venv .venv 2>/dev/null || {
        as_root apt-get update -q
        as_root apt-get install -y -q python3-venv
        python3 -m venv --clear .venv
    }
fi
.venv/bin/pip install --quiet --disable-pip-version-check "${1:-.}"
