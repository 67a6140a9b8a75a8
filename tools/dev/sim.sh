# SPDX-License-Identifier: Apache-2.0
# Runs the simulator: ./dev sim [--seeds N] or the options of tandem sim.
#
#   ./dev sim [--seeds N]      options are those of `tandem sim`; default: --seeds 2000
#
# A seed that fails prints the one line that repeats it.

sim_main() {
    ensure_setup build
    step "configure release" configure release
    local program=tandem
    ninja -C build/release -t targets all | grep -q '^bin/tandem-sim:' && program=tandem-sim
    step "build release $program" compile release "$program"
    (($#)) || set -- --seeds 2000
    if [[ $program == tandem-sim ]]; then
        exec build/release/bin/tandem-sim "$@"
    fi
    exec build/release/bin/tandem sim "$@"
}

sim_main "$@"
