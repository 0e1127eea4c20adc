#!/usr/bin/env bash
# Checks who includes whom against tools/layers.txt, and that the pure half stays pure. Prints each offence as
# file:line: text; exits 1 when there is any. Usage: tools/check_layers.sh [root]
set -euo pipefail
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$root"

find steelyard -name '*.h' -o -name '*.cc' | LC_ALL=C sort | xargs awk -v layers="$root/tools/layers.txt" '
  BEGIN {
    while ((getline line < layers) > 0) {
      if (line !~ /^[a-z]+:/) continue
      name = line; sub(/:.*/, "", name)
      rest = line; sub(/^[a-z]+:[ ]*/, "", rest)
      known[name] = 1; allowed[name, name] = 1
      n = split(rest, part, /[ ]+/)
      for (i = 1; i <= n; i++) allowed[name, part[i]] = 1
    }
    n = split("base schema model sense health forecast weigh pick request control sim http config", part, " ")
    for (i = 1; i <= n; i++) pure[part[i]] = 1
    bad = 0
  }
  function offend(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }
  FNR == 1 {
    split(FILENAME, path, "/"); layer = path[2]
    if (!(layer in known)) offend("folder \"" layer "\" is not in tools/layers.txt")
    rim = (layer == "io" || layer == "supervise")
  }
  /^[ \t]*#[ \t]*include[ \t]*"/ {
    target = $0; sub(/^[^"]*"/, "", target); sub(/".*/, "", target)
    if (target !~ /^steelyard\//) { offend("include \"" target "\" by its full path from the root"); next }
    split(target, to, "/"); short = target; sub(/^steelyard\//, "", short)
    if (!((layer, to[2]) in allowed) && !((layer, "*") in allowed) && !((layer, short) in allowed))
      offend(layer " may not include " short)
  }
  /^[ \t]*#[ \t]*include[ \t]*</ {
    target = $0; sub(/^[^<]*</, "", target); sub(/>.*/, "", target)
    if (!rim && target ~ /^(sys\/|netinet\/|arpa\/|linux\/|openssl\/|unistd\.h|fcntl\.h|poll\.h|signal\.h|spawn\.h|liburing|ares|pthread|thread|mutex|shared_mutex|condition_variable|future|netdb\.h|dirent\.h|pwd\.h|grp\.h|ifaddrs\.h)/)
      if (!(layer == "agent" && target ~ /^(fcntl|unistd)\.h$/)) offend("<" target "> belongs to io")
    if ((layer in pure) && target ~ /^(random|iostream|fstream|stdio\.h|time\.h|ctime|fmt\/)/)
      offend("<" target "> has no place in the pure half")
  }
  (layer in pure) && /::now\(\)/ && !/^[ \t]*\/\// { offend("the pure half gets `now` as an argument") }
  END { exit bad }
'
echo "layers: clean"
