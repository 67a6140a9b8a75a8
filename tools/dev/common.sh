# SPDX-License-Identifier: Apache-2.0
# What the sub-commands of ./dev share; sourced, with the repository root as the working directory.

root=$PWD
jobs=$(nproc)
if [[ -t 1 ]]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi

say() { printf '%s\n' "$*"; }
die() { printf 'dev: %s\n' "$*" >&2; exit 1; }

# A sub-command's help is the comment block under its licence line; the first line of it stands in the usage.
help_of() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$1"; }

# step TEXT COMMAND...: says what is done, does it, says how long it took.
step() {
    local text=$1 started ended status=0
    shift
    printf '%s== %s%s\n' "$bold" "$text" "$plain"
    started=$(date +%s%N)
    "$@" || status=$?
    ended=$(date +%s%N)
    local tenths=$(((ended - started) / 100000000))
    if ((status)); then
        printf '== %s: failed after %d.%d s\n' "$text" $((tenths / 10)) $((tenths % 10)) >&2
        exit "$status"
    fi
    printf '   %s: %d.%d s\n' "$text" $((tenths / 10)) $((tenths % 10))
}

# configure PRESET [-DNAME=VALUE...]
configure() {
    local log=build/$1.configure.log
    mkdir -p build
    cmake --preset "$@" >"$log" 2>&1 || { tail -n 40 "$log" >&2; return 1; }
}

# compile PRESET [TARGET...]: ninja, quiet unless something goes wrong or a person is looking.
compile() {
    local preset=$1
    shift
    if [[ -t 1 ]]; then
        ninja -C "build/$preset" -j "$jobs" "$@"
    else
        local log=build/$preset.build.log
        ninja -C "build/$preset" -j "$jobs" "$@" >"$log" 2>&1 || { grep -v '^\[' "$log" | head -n 100 >&2; return 1; }
        grep -c '^\[.*Building' "$log" | sed 's/$/ files compiled/; s/^/   /' || true
    fi
}

ensure_setup() {
    source tools/dev/setup.sh "$@"
}
