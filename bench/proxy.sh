#!/usr/bin/env bash
# CPU time per request of our proxy beside Debian's Nginx, in one interleaved run. `./dev bench proxy` builds the binary first.
#
#   bench/proxy.sh [--scenario 64|16k|1m|close|post16k] [--rounds N] [--seconds S] [--binary PATH] [--other PATH]
#   bench/proxy.sh --syscalls [--scenario ...]      system calls per request of both, by strace
#   bench/proxy.sh --instructions [--scenario ...]  user instructions per request of ours, by callgrind
#
# Each proxy has one worker and processor 0 to itself; load and nodes (three ports of one process) share processor 1. A round
# measures both, in changing order; its result is the ratio of their CPU times (the scheduler's, of the whole process tree),
# which a slow phase of the machine changes little. A round in which others used more than 12 % of processor 0 is void and
# repeated, at most as many times as there are rounds. Exit status: 0 below Nginx, 1 not below or errors, 2 no measurement.
# --other measures a second Steelyard in Nginx's place, to compare two builds.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=9 seconds=2 scenario=64 binary=build/release/steelyard other='' count=''
readonly most_foreign=0.12
usage() { sed -n '2,13s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    --scenario) scenario=$2; shift 2 ;;
    --binary) binary=$2; shift 2 ;;
    --other) other=$2; shift 2 ;;
    --syscalls | --instructions) count=${1#--}; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done

connections=64
case $scenario in
  64) ask=(--path /64 --expect 64) ;;
  16k) ask=(--path /16k --expect 16384) ;;
  1m) ask=(--path /1m --expect 1048576) connections=16 ;;
  close) ask=(--path /64 --expect 64 --close) ;;
  post16k) ask=(--path /64 --expect 64 --post 16384) ;;
  *) usage >&2; exit 2 ;;
esac
ask+=(--connections "$connections")

fail() { echo "bench: $*" >&2; exit 2; }
[ "$(nproc)" -ge 2 ] || fail "needs two processors"
[ -x "$binary" ] || fail "no $binary: run ./dev build"
tools=(g++ taskset)
case $count in syscalls) tools+=(strace) ;; instructions) tools+=(valgrind callgrind_control) ;; esac
for tool in "${tools[@]}"; do command -v "$tool" > /dev/null || fail "needs $tool"; done
nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || fail "needs nginx (Debian: nginx-light)"

dir=$(mktemp -d)
chmod 755 "$dir"  # Nginx's worker may be another user
pids=()
group_nice=''
cleanup() {
  local pid
  for pid in "${pids[@]}"; do kill -TERM "$pid" 2> /dev/null || true; done
  for pid in "${pids[@]}"; do
    for _ in $(seq 30); do kill -0 "$pid" 2> /dev/null || continue 2; sleep 0.1; done
    kill -KILL "$pid" 2> /dev/null || true
  done
  rm -rf "$dir"
  [ -z "$group_nice" ] || echo "$group_nice" > /proc/self/autogroup
}
trap cleanup EXIT
trap 'exit 2' INT TERM

# Root may put the run before whatever else the machine does: its processes, and its session where the kernel weighs sessions.
ahead=()
if [ "$(id -u)" = 0 ] && [ "$(nice -n -20 nice 2> /dev/null)" = -20 ]; then
  ahead=(nice -n -20)
  was=$(sed -nE 's/.* nice (-?[0-9]+)$/\1/p' /proc/self/autogroup 2> /dev/null || true)
  if [ -n "$was" ] && echo -20 2> /dev/null > /proc/self/autogroup; then group_nice=$was; fi
fi

start() {  # NAME PROCESSOR COMMAND...
  local name=$1 cpu=$2
  shift 2
  : > "$dir/$name.out"
  "${ahead[@]}" taskset -c "$cpu" "$@" > "$dir/$name.out" 2> "$dir/$name.err" < /dev/null &
  pids+=($!)
  started=$!
}

for program in backend load; do
  g++ -std=c++20 -O2 -o "$dir/$program" "bench/proxy/$program.cc" || fail "cannot build bench/proxy/$program.cc"
done

start backend 1 "$dir/backend" 3
for _ in $(seq 50); do [ "$(wc -l < "$dir/backend.out")" -ge 3 ] && break; sleep 0.1; done
mapfile -t nodes < "$dir/backend.out"
[ ${#nodes[@]} -eq 3 ] || fail "the nodes did not start: $(cat "$dir/backend.err")"
mapfile -t free < <("$dir/load" --free-ports 4)

# Nginx as one would tune it for this: keep-alive both ways, no logs, buffers that suit large bodies.
nginx_file() {  # PORT
  cat << TXT
daemon off;
worker_processes 1;
worker_rlimit_nofile 4096;
pid $dir/nginx.pid;
error_log $dir/nginx-error.log crit;
events { worker_connections 2048; use epoll; multi_accept on; accept_mutex off; }
http {
  access_log off;
  server_tokens off;
  tcp_nodelay on;
  keepalive_timeout 300s;
  keepalive_requests 1000000000;
  client_body_buffer_size 64k;
  client_body_temp_path $dir/nginx-body;
  proxy_temp_path $dir/nginx-proxy;
  fastcgi_temp_path $dir/nginx-fastcgi;
  uwsgi_temp_path $dir/nginx-uwsgi;
  scgi_temp_path $dir/nginx-scgi;
  proxy_buffer_size 32k;
  proxy_buffers 8 16k;
  proxy_busy_buffers_size 48k;
  proxy_max_temp_file_size 0;
  upstream nodes {
    server 127.0.0.1:${nodes[0]};
    server 127.0.0.1:${nodes[1]};
    server 127.0.0.1:${nodes[2]};
    keepalive 512;
    keepalive_requests 1000000000;
    keepalive_timeout 300s;
  }
  server {
    listen 127.0.0.1:$1 backlog=4096;
    location / {
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host \$host;
      proxy_set_header X-Forwarded-For \$proxy_add_x_forwarded_for;
      proxy_pass http://nodes;
    }
  }
}
TXT
}

steelyard_file() {  # PORT ADMIN
  cat << TXT
workers: 1
pool: { connections: 512 }
admin: { address: "127.0.0.1:$2" }
listeners:
  - address: 127.0.0.1:$1
    routes: [{ upstream: bench }]
upstreams:
  bench:
    nodes: ["127.0.0.1:${nodes[0]}", "127.0.0.1:${nodes[1]}", "127.0.0.1:${nodes[2]}"]
    pick: round_robin
TXT
}

declare -A port pid
start_steelyard() {  # NAME BINARY PORT ADMIN
  steelyard_file "$3" "$4" > "$dir/$1.yaml"
  local under=()
  [ "$count" = instructions ] && under=(valgrind --tool=callgrind "--callgrind-out-file=$dir/$1.callgrind")
  start "$1" 0 "${under[@]}" "$2" run "$dir/$1.yaml"
  port[$1]=$3 pid[$1]=$started
}

subject=steelyard
start_steelyard steelyard "$binary" "${free[0]}" "${free[1]}"
if [ -n "$other" ]; then
  rival=other
  start_steelyard other "$other" "${free[2]}" "${free[3]}"
else
  rival=nginx
  nginx_file "${free[2]}" > "$dir/nginx.conf"
  start nginx 0 "$nginx" -e "$dir/nginx-error.log" -p "$dir" -c "$dir/nginx.conf"
  port[nginx]=${free[2]} pid[nginx]=$started
fi

wait_for() {  # NAME
  for _ in $(seq 50); do
    kill -0 "${pid[$1]}" 2> /dev/null || fail "$1 ended: $(tail -n 5 "$dir/$1.err")"
    (exec 3<> "/dev/tcp/127.0.0.1/${port[$1]}") 2> /dev/null && return
    sleep 0.1
  done
  fail "$1 does not listen: $(tail -n 5 "$dir/$1.err")"
}
wait_for "$subject"
wait_for "$rival"

load() {  # NAME SECONDS
  timeout "$(awk -v s="$2" 'BEGIN { print int(s) + 30 }')" "${ahead[@]}" taskset -c 1 "$dir/load" \
    --port "${port[$1]}" --watch "${pid[$1]}" --cpu 0 --seconds "$2" "${ask[@]}"
}
value() { sed -E "s/.*\"$2\":([0-9.]+).*/\1/" <<< "$1"; }  # JSON KEY
median() { sort -n | awk '{ v[NR] = $1 } END { if (NR) printf "%.3f\n", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'; }
children() { awk -v of="$1" '{ sub(/.*\) /, ""); if ($2 == of) print FILENAME }' /proc/[0-9]*/stat 2> /dev/null | sed -E 's/[^0-9]//g'; }

count_syscalls() {  # NAME
  local traced=() one
  for one in "${pid[$1]}" $(children "${pid[$1]}"); do traced+=(-p "$one"); done
  strace -f -c -q -o "$dir/$1.calls" "${traced[@]}" &
  local tracer=$! result
  sleep 1
  result=$(load "$1" "$seconds") || fail "no answers from $1"
  kill -INT "$tracer" 2> /dev/null || true
  wait "$tracer" || true
  local all
  all=$(value "$result" answers)
  printf '%s: system calls per request\n' "$1"
  awk -v n="$all" '$4 ~ /^[0-9]+$/ && $4 / n >= 0.005 { printf "  %-16s %8.2f\n", $NF, $4 / n }' "$dir/$1.calls"
}

count_instructions() {  # NAME
  local result
  callgrind_control -z "${pid[$1]}" > /dev/null
  result=$(load "$1" "$seconds") || fail "no answers from $1"
  callgrind_control -d "${pid[$1]}" > /dev/null
  for _ in $(seq 50); do grep -qs '^totals:' "$dir/$1.callgrind.1" "$dir/$1.callgrind.2" && break; sleep 0.1; done
  awk -v name="$1" -v n="$(value "$result" answers)" '/^(summary|totals):/ { all[FILENAME] = $2 }
    END { for (file in all) if (all[file] > most) most = all[file]; printf "%s: %d user instructions per request, %d requests\n", name, most / n, n }' \
    "$dir/$1".callgrind.*
}

echo "scenario $scenario: $connections connections, $rounds rounds of $seconds s, kernel $(uname -r), $(nproc) processors" >&2
for name in "$subject" "$rival"; do load "$name" 1 > /dev/null || fail "no answers from $name: $(tail -n 5 "$dir/$name.err")"; done

case $count in
  syscalls)
    count_syscalls "$subject"
    count_syscalls "$rival"
    exit 0
    ;;
  instructions)
    count_instructions "$subject"
    [ "$rival" = nginx ] || count_instructions "$rival"
    exit 0
    ;;
esac

printf '%5s %12s %12s %7s   %s\n' round "$subject us" "$rival us" ratio note
good=0 void=0 errors=0
while [ "$good" -lt "$rounds" ] && [ "$void" -le "$rounds" ]; do
  declare -A result
  order=("$subject" "$rival")
  [ $(((good + void) % 2)) -eq 1 ] && order=("$rival" "$subject")
  for name in "${order[@]}"; do result[$name]=$(load "$name" "$seconds") || fail "no answers from $name"; done
  for name in "${order[@]}"; do errors=$((errors + $(value "${result[$name]}" errors))); done
  ours=$(value "${result[$subject]}" cpu_us) theirs=$(value "${result[$rival]}" cpu_us)
  ratio=$(awk -v a="$ours" -v b="$theirs" 'BEGIN { printf "%.3f", a / b }')
  note=''
  for name in "${order[@]}"; do
    foreign=$(value "${result[$name]}" foreign)
    if above "$foreign" "$most_foreign"; then note+="void: others used $foreign of processor 0 beside $name; "; fi
  done
  if [ -n "$note" ]; then
    void=$((void + 1))
    printf '%5s %12s %12s %7s   %s\n' - "$ours" "$theirs" "$ratio" "$note"
    continue
  fi
  good=$((good + 1))
  printf '%5s %12s %12s %7s\n' "$good" "$ours" "$theirs" "$ratio"
  echo "$ratio" >> "$dir/ratios"
  for name in "${order[@]}"; do echo "${result[$name]}" >> "$dir/$name.results"; done
done

if [ "$good" -lt 3 ]; then fail "only $good rounds were undisturbed: the machine is too busy"; fi
printf '\n%-10s %9s %9s %9s %9s %9s %9s %7s   (medians of %s rounds)\n' '' cpu_us user_us system_us rps p50_us p99_us busy "$good"
for name in "$subject" "$rival"; do
  printf '%-10s' "$name"
  for key in cpu_us user_us system_us rps p50_us p99_us; do
    printf ' %9s' "$(while read -r line; do value "$line" "$key"; done < "$dir/$name.results" | median)"
  done
  printf ' %7s\n' "$(while read -r line; do value "$line" busy; done < "$dir/$name.results" | median)"
done
ratio=$(median < "$dir/ratios")
printf '\nmedian ratio %s/%s: %s   rounds: %s   void: %s   errors: %s\n' "$subject" "$rival" "$ratio" "$good" "$void" "$errors"
[ "$errors" -eq 0 ] || { echo "bench: there were errors" >&2; exit 1; }
above 1 "$ratio" || { echo "bench: not below $rival" >&2; exit 1; }
