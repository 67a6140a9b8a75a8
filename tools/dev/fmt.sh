# SPDX-License-Identifier: Apache-2.0
# Formats the C++ sources; --check only says which differ.
#
#   ./dev fmt [--check] [FILE...]     default: every tracked source

fmt_main() {
    local check=0 files=()
    if [[ ${1:-} == --check ]]; then check=1; shift; fi
    if (($#)); then files=("$@"); else
        mapfile -t files < <(git ls-files -- 'src/*.h' 'src/*.cc' 'src/*.c' 'tests/*.cc' 'tests/*.h')
    fi
    ((${#files[@]})) || return 0
    if ((check)); then
        step "fmt: ${#files[@]} files" clang-format-19 --dry-run --Werror "${files[@]}"
    else
        step "fmt: ${#files[@]} files" clang-format-19 -i "${files[@]}"
    fi
}

fmt_main "$@"
