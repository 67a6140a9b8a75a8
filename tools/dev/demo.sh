# SPDX-License-Identifier: Apache-2.0
# The first ride: trains, registers, serves, calls and accounts, with real parts.
#
#   ./dev demo [--keep] [--check]
#
# Installs and builds what is missing first, says how much it downloads, and works in a temporary folder.
#   --keep    leaves Tandem running at the end and says how to talk to it
#   --check   also holds the ride to its promises; exit 1 when one is broken

demo_main() {
    local option
    for option in "$@"; do
        case $option in
            --keep | --check) ;;
            *) printf 'dev: demo has no option "%s"\n' "$option" >&2; help_of tools/dev/demo.sh >&2; exit 2 ;;
        esac
    done
    ensure_setup build demo
    step "configure release" configure release
    step "build release" compile release
    TANDEM_BIN=$root/build/release/bin exec .tandem/venv-serving/bin/python tools/demo/ride.py "$@"
}

demo_main "$@"
