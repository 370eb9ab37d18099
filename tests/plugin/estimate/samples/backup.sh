#!/usr/bin/env bash
set -euo pipefail

target="${1:?usage: backup.sh TARGET}"
stamp="$(date -u +%Y%m%dT%H%M%SZ)"
keep=14

log() { printf '%s %s\n' "$(date -u +%H:%M:%S)" "$*" >&2; }

log "dumping database to $target/$stamp"
mkdir -p "$target/$stamp"
pg_dump --format=custom --no-owner --file "$target/$stamp/main.dump" main

find "$target" -mindepth 1 -maxdepth 1 -type d -name '20*' | sort -r | tail -n +$((keep + 1)) |
while read -r old; do
    log "removing $old"
    rm -rf -- "$old"
done
log "done: $(du -sh "$target/$stamp" | cut -f1)"
