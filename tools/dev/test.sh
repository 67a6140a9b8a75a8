# SPDX-License-Identifier: Apache-2.0
# Builds and runs every test; the last line is "N passed, N failed".
#
#   ./dev test [--long] [--only NAME] [--list]
#
# Steps: unit (every gtest case, the house rules, the tools' own tests), e2e (tests/e2e), sim (2,000 seeds),
# kills (50 server kills), plants (each defect of tools/planted.txt must be found by its test); with CI=true
# also sanitizers (ASan and UBSan on the modules of tools/sanitized.txt, corpora of the fuzz targets).
#   --long        20,000 seeds, 500 kills, sanitizers, 60 s for each fuzz target
#   --only NAME   a step, or whatever has NAME in its name: a module, a script, a planted defect
#   --list        says what there is and runs nothing

test_main() {
    if [[ " $* " != *" --list "* ]]; then
        ensure_setup build test demo
    fi
    exec python3 tools/run_tests.py "$@"
}

test_main "$@"
