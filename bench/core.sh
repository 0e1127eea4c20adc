#!/usr/bin/env bash
# What the pure half costs: the parser's bytes a second, a pick, a new table. `./dev bench core` builds first.
exec python3 "$(dirname "$0")/core.py" "$@"
