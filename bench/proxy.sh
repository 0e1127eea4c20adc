#!/usr/bin/env bash
# CPU time per request of Steelyard beside Nginx, HAProxy and a bare relay. `./dev bench proxy` builds first; `--help` has the options.
exec python3 "$(dirname "$0")/proxy/run.py" "$@"
