# SPDX-License-Identifier: Apache-2.0
# House rules: layers, purity, sizes, names; format of what differs from main.
#
#   ./dev lint
#
# tools/layers.py over the whole tree with a report of sizes, which here also refuses lines wider than 100 columns,
# and clang-format on the C++ files that differ from main.

lint_main() {
    step "lint: layers, purity, sizes, widths" python3 tools/layers.py --sizes --widths
    local changed
    mapfile -t changed < <({ git diff --name-only --diff-filter=d main 2>/dev/null; git ls-files -mo --exclude-standard; } |
        grep -E '^(src|tests)/.*\.(h|cc|c)$' | sort -u)
    if ((${#changed[@]})); then
        step "lint: format of ${#changed[@]} changed files" clang-format-19 --dry-run --Werror "${changed[@]}"
    fi
}

lint_main "$@"
