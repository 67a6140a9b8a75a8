# SPDX-License-Identifier: Apache-2.0
# Builds everything, or one preset or target.
#
#   ./dev build [PRESET] [TARGET...]
#
# PRESET is dev (default: clang, -O0), release (g++, -O2), asan, tsan or fuzz; the result is build/PRESET/bin.
# It calls setup first when a package is missing.

build_main() {
    local preset=dev
    case ${1:-} in dev | release | asan | tsan | fuzz) preset=$1; shift ;; esac
    ensure_setup build
    step "configure $preset" configure "$preset"
    step "build $preset" compile "$preset" "$@"
    say "   programs are in build/$preset/bin"
}

build_main "$@"
