# SPDX-License-Identifier: Apache-2.0
# Measures: ./dev bench NAME [--json FILE]; without a name, lists the measurements.
#
#   ./dev bench                       lists the measurements
#   ./dev bench NAME [--json FILE]    runs bench/NAME/run.py; further options go to it
#
# FILE gets rows {measure, value, unit, bar, met, peer, peer_value, ratio, setup}; the terminal gets a table.

bench_main() {
    local name=${1:-} file
    if [[ -z $name || $name == -* ]]; then
        for file in bench/*/run.py; do
            name=${file#bench/}
            printf '  %-10s %s\n' "${name%/run.py}" "$(sed -n 's/^"""\(.*[.:]\).*/\1/p' "$file" | head -n 1)"
        done
        return
    fi
    [[ -f bench/$name/run.py ]] || die "bench: no measurement \"$name\"; ./dev bench lists them"
    shift
    ensure_setup build bench
    if [[ $name != build ]]; then
        step "configure release" configure release
        step "build release" compile release
    fi
    TANDEM_BIN=$root/build/release/bin PYTHONPATH=$root/bench exec python3 "bench/$name/run.py" "$@"
}

bench_main "$@"
