# SPDX-License-Identifier: Apache-2.0
# Removes what was built; --all also what was downloaded into the repository.
#
#   ./dev clean          build/
#   ./dev clean --all    also every other ignored file (virtual environments, models, homes)
#
# Installed packages and the compiler cache stay.

clean_main() {
    case ${1:-} in
        "") step "clean: build/" rm -rf build ;;
        --all) step "clean: everything git ignores" git clean -fdXq ;;
        *) die "clean: no option \"$1\"; there is --all" ;;
    esac
}

clean_main "$@"
