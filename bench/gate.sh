#!/usr/bin/env bash
# The numbers of the request path that are exact, so that a change cannot worsen them unseen. `./dev bench gate` builds first.
exec python3 "$(dirname "$0")/proxy/gate.py" "$@"
