# SPDX-License-Identifier: Apache-2.0
# Installs what is missing of tools/setup/packages.txt, after saying how much that downloads.
#
#   ./dev setup [GROUP...]     groups: build test demo bench (default: all)
#   ./dev setup --check        only says what is missing; exit 1 if anything is
#
# Debian packages come from tools/setup/packages.txt, Python parts from tools/setup/python.sh.
# It needs root (or sudo) only when a Debian package is missing.

packages_of() {
    awk -v groups=" $* " '!/^#/ && NF && index(groups, " " $2 " ") {print $1}' tools/setup/packages.txt
}

missing_of() {
    local name
    for name in "$@"; do
        [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || echo "$name"
    done
}

as_root() {
    if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# One line that changes, for a person who waits; nothing for a log.
show_progress() {
    if [[ ! -t 1 ]]; then cat >/dev/null; return; fi
    local line
    while IFS= read -r line; do printf '\r\e[K   %.90s' "$line"; done
    printf '\r\e[K'
}

download_list() { apt-get install --print-uris -qq -y --no-install-recommends "$@" 2>/dev/null; }

install_missing() {
    local list log
    ((EUID == 0)) || command -v sudo >/dev/null ||
        die "missing, and this is not root; as root: apt-get install --no-install-recommends ${missing[*]}"
    log=$(mktemp)
    if ! list=$(download_list "${missing[@]}"); then
        say "   package lists are absent or old: apt-get update"
        as_root apt-get update -q -o Acquire::Retries=3 >"$log" 2>&1 || { tail -n 20 "$log" >&2; return 1; }
        list=$(download_list "${missing[@]}") || die "apt does not know one of: ${missing[*]} (Debian 12 is what this is tried on)"
    fi
    say "   missing: ${missing[*]}"
    awk '$3 ~ /^[0-9]+$/ {bytes += $3; n++} END {printf "   %d packages to download, %.1f MB\n", n, bytes / 1e6}' <<<"$list"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -o Acquire::Retries=3 \
        -o Dpkg::Use-Pty=0 "${missing[@]}" </dev/null 2>&1 | tee "$log" | show_progress || { tail -n 40 "$log" >&2; return 1; }
    rm -f "$log"
}

setup_main() {
    local check=0 groups=() word
    for word in "$@"; do
        case $word in
            --check) check=1 ;;
            build | test | demo | bench) groups+=("$word") ;;
            *) die "setup: no group \"$word\"; groups are build, test, demo, bench" ;;
        esac
    done
    ((${#groups[@]})) || groups=(build test demo bench)
    local wanted missing
    mapfile -t wanted < <(packages_of "${groups[@]}")
    mapfile -t missing < <(missing_of "${wanted[@]}")
    if ((check)); then
        ((${#missing[@]} == 0)) || { say "missing: ${missing[*]}"; exit 1; }
        say "nothing is missing"
        return
    fi
    if ((${#missing[@]})); then
        step "setup: Debian packages" install_missing
    else
        say "   setup: ${#wanted[@]} Debian packages, all there"
    fi
    if [[ " ${groups[*]} " == *" demo "* && -f tools/setup/python.sh ]]; then
        step "setup: Python parts" bash tools/setup/python.sh
    fi
}

setup_main "$@"
