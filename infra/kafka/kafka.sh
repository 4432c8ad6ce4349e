#!/usr/bin/env bash
# Apache Kafka on this machine, for development and tests: KRaft, combined mode, loopback only.
#
#   kafka.sh up [NODES]   start 1 (default) or 3 nodes; the last line printed is the bootstrap address
#   kafka.sh down         stop what `up` started and remove its data
#   kafka.sh status       one line a node; exit 0 if all run, 1 if some do, 3 if none
#   kafka.sh kill N       end node N at once, as a crash would; its data stays
#   kafka.sh start N      start node N again on its data
#
# MNEMOLOG_KAFKA_PORT   first of six ports (default 19092): clients on +0..+2, controllers on +3..+5
# MNEMOLOG_KAFKA_DIR    where data, logs and pid files go (default: run/ beside this script)
# MNEMOLOG_KAFKA_SESSION_MS  how long a dead node keeps its place (default 9000, as Kafka's own)
# MNEMOLOG_KAFKA_OWNER  a process id: once that process is gone the cluster is taken down by itself
#
# `up` twice is `up` once. Exit: 0 done, 1 the broker failed, 2 wrong usage, 3 something is missing
# (Java 17, Maven, the jars), 4 a port is taken. Only the address goes to standard output.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${MNEMOLOG_KAFKA_DIR:-$here/run}
port=${MNEMOLOG_KAFKA_PORT:-19092}
session_ms=${MNEMOLOG_KAFKA_SESSION_MS:-9000}
target=$here/target
[[ $dir == /* ]] || dir=$PWD/$dir
java=${JAVA_HOME:+$JAVA_HOME/bin/}java

say() { echo "$*" >&2; }
die() { say "kafka.sh: ${*:2}"; exit "$1"; }
[[ $port =~ ^[0-9]{4,5}$ ]] || die 2 "MNEMOLOG_KAFKA_PORT is a port number, not $port"
[[ $session_ms =~ ^[1-9][0-9]{3,4}$ ]] || die 2 "MNEMOLOG_KAFKA_SESSION_MS is 1000 to 99999, not $session_ms"

client_port() { echo $((port + $1 - 1)); }
controller_port() { echo $((port + 3 + $1 - 1)); }
properties() { echo "$dir/node-$1/server.properties"; }
answers_tcp() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Nodes and first port of the cluster that lives in $dir, if there is one.
nodes=
if [[ -f $dir/cluster ]]; then read -r nodes port cluster_id <"$dir/cluster"; fi

address() {
  local list= n
  for ((n = 1; n <= nodes; n++)); do list+=${list:+,}127.0.0.1:$(client_port "$n"); done
  echo "$list"
}

# A pid file alone proves nothing: the number may belong to another program by now.
pid_of() {
  local pid command
  pid=$(cat "$dir/node-$1/pid" 2>/dev/null) || return 1
  if [[ -d /proc/self ]]; then
    command=$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") || return 1
  else
    command=$(ps -ww -o command= -p "$pid") || return 1
  fi
  [[ $command == *"$(properties "$1")"* ]] && echo "$pid"
}
running() { pid_of "$1" >/dev/null; }

need_java() {
  local version
  version=$("$java" -version 2>&1) || die 3 "no Java found: install 17 or newer (Debian: default-jre-headless)"
  [[ $version =~ version\ \"([0-9]+) ]] || die 3 "cannot tell the Java version from: $version"
  ((BASH_REMATCH[1] >= 17)) || die 3 "Java ${BASH_REMATCH[1]} is too old: Kafka needs 17 or newer"
}

need_jars() {
  [[ $target/jars/.complete -nt $here/pom.xml ]] && return
  command -v mvn >/dev/null || die 3 "no Maven found: install it to fetch the jars (Debian: maven)"
  say "fetching Kafka's jars (once) ..."
  rm -rf "$target/jars"
  mvn -q -B -f "$here/pom.xml" package >&2 || die 3 "Maven could not fetch the jars; see above"
  touch "$target/jars/.complete"
}

need_free_ports() {
  local n p
  for ((n = 1; n <= nodes; n++)); do
    for p in "$(client_port "$n")" "$(controller_port "$n")"; do
      ! answers_tcp "$p" || die 4 "port $p is taken: set MNEMOLOG_KAFKA_PORT to the first of six free ports"
    done
  done
}

write_properties() {
  local voters= n file
  for ((n = 1; n <= nodes; n++)); do voters+=${voters:+,}$n@127.0.0.1:$(controller_port "$n"); done
  file=$(properties "$1")
  mkdir -p "${file%/*}"
  cat >"$file" <<END
process.roles=broker,controller
node.id=$1
controller.quorum.voters=$voters
listeners=CLIENT://127.0.0.1:$(client_port "$1"),CONTROLLER://127.0.0.1:$(controller_port "$1")
advertised.listeners=CLIENT://127.0.0.1:$(client_port "$1")
listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENT
controller.listener.names=CONTROLLER
log.dirs=$dir/node-$1/data
auto.create.topics.enable=false
default.replication.factor=$nodes
min.insync.replicas=$(((nodes + 1) / 2))
offsets.topic.num.partitions=8
offsets.topic.replication.factor=$nodes
transaction.state.log.num.partitions=8
transaction.state.log.replication.factor=$nodes
transaction.state.log.min.isr=$(((nodes + 1) / 2))
share.coordinator.state.topic.replication.factor=$nodes
share.coordinator.state.topic.min.isr=$(((nodes + 1) / 2))
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=$session_ms
broker.heartbeat.interval.ms=$((session_ms / 5))
num.network.threads=2
num.io.threads=4
log.cleaner.dedupe.buffer.size=16777216
log.cleaner.backoff.ms=1000
END
}

kafka_java() {
  "$java" -cp "$target/jars/*" "-Dlog4j2.configurationFile=$here/log4j2.properties" "$@"
}

format() {
  kafka_java -Xmx256m -XX:TieredStopAtLevel=1 kafka.tools.StorageTool \
    format --cluster-id "$cluster_id" --config "$(properties "$1")" >"$dir/node-$1/log" 2>&1
}

launch() {
  nohup "$java" -Xms256m -Xmx512m -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -Djava.awt.headless=true \
    -cp "$target/jars/*" "-Dlog4j2.configurationFile=$here/log4j2.properties" \
    kafka.Kafka "$(properties "$1")" </dev/null >>"$dir/node-$1/log" 2>&1 9>&- &
  echo $! >"$dir/node-$1/pid"
}

# A node binds its port early but answers requests only once it has joined the cluster, so ask it
# something: ApiVersions version 0, correlation id 1, no client id; any answer will do.
answers() {
  local bytes
  bytes=$({
    exec 3<>"/dev/tcp/127.0.0.1/$(client_port "$1")" || exit 1
    printf '\0\0\0\x0a\0\x12\0\0\0\0\0\x01\xff\xff' >&3
    timeout 2 head -c 8 <&3 | wc -c
  } 2>/dev/null) && ((bytes == 8))
}

wait_until_answers() {
  local deadline=$((SECONDS + 90))
  until answers "$1"; do
    # Not `running`: a process just launched has its own command line only after a moment.
    kill -0 "$(<"$dir/node-$1/pid")" 2>/dev/null || {
      tail -n 20 "$dir/node-$1/log" >&2
      die 1 "node $1 ended; its log: $dir/node-$1/log"
    }
    ((SECONDS < deadline)) || die 1 "node $1 does not answer after 90 s; its log: $dir/node-$1/log"
    sleep 0.1
  done
}

create() {
  local n formatting=()
  nodes=$1
  need_free_ports
  need_java
  need_jars
  cluster_id=$(head -c 16 /dev/urandom | base64 | tr '+/' 'AA' | tr -d '=')
  for ((n = 1; n <= nodes; n++)); do
    rm -rf "$dir/node-$n" # half made by an `up` that failed
    write_properties "$n"
    format "$n" &
    formatting+=($!)
  done
  for n in "${!formatting[@]}"; do
    wait "${formatting[n]}" || { cat "$dir/node-$((n + 1))/log" >&2; die 1 "could not format the storage"; }
  done
  echo "$nodes $port $cluster_id" >"$dir/cluster"
}

up() {
  local n
  if [[ -z $nodes ]]; then
    create "${1:-1}"
    if [[ -n ${MNEMOLOG_KAFKA_OWNER:-} ]]; then
      nohup "$here/kafka.sh" watch "$MNEMOLOG_KAFKA_OWNER" </dev/null >/dev/null 2>&1 9>&- &
    fi
  elif [[ -n ${1:-} && $1 != "$nodes" ]]; then
    die 2 "$dir holds a cluster of $nodes: take it down first, or set MNEMOLOG_KAFKA_DIR"
  fi
  for ((n = 1; n <= nodes; n++)); do running "$n" || { need_java; launch "$n"; }; done
  for ((n = 1; n <= nodes; n++)); do wait_until_answers "$n"; done
  address
}

# A test run that is killed runs no fixture's end; its broker must not stay behind.
watch() {
  while kill -0 "$1" 2>/dev/null && [[ -f $dir/cluster ]]; do sleep 1; done
  [[ ! -f $dir/cluster ]] || exec "$here/kafka.sh" down
}

# What is removed need not be shut down in good order.
down() {
  local n
  for ((n = 1; n <= ${nodes:-3}; n++)); do end "$n"; rm -rf "$dir/node-$n"; done
  rm -f "$dir/cluster"
  rmdir "$dir" 2>/dev/null || true # somebody else's files in it stay
  say "Kafka is down"
}

# The command line of a dying process goes before its sockets and files do, hence both questions.
end() {
  local pid deadline=$((SECONDS + 30))
  pid=$(pid_of "$1") || return 0
  kill -KILL "$pid"
  while running "$1" || answers_tcp "$(client_port "$1")"; do
    ((SECONDS < deadline)) || die 1 "node $1 (pid $pid) does not end"
    sleep 0.05
  done
}

status() {
  local n up=0
  for ((n = 1; n <= ${nodes:-0}; n++)); do
    if running "$n"; then
      say "node $n: running, pid $(pid_of "$n"), 127.0.0.1:$(client_port "$n")"
      up=$((up + 1))
    else
      say "node $n: not running"
    fi
  done
  ((up)) || { say "Kafka is not running"; exit 3; }
  address
  ((up == nodes)) || exit 1
}

need_node() {
  [[ -n $nodes ]] || die 2 "there is no cluster in $dir: run kafka.sh up"
  [[ ${1:-} =~ ^[1-9]$ ]] && (($1 <= nodes)) || die 2 "name a node from 1 to $nodes"
}

usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2; }

# Two that come up at once take turns (jars, ports); brokers must not inherit the lock (see launch).
if [[ ${1:-} == up ]] && command -v flock >/dev/null; then
  mkdir -p "$target"
  exec 9>"$target/.lock"
  flock 9
fi

case ${1:-} in
  up)
    [[ ${2:-1} =~ ^[13]$ ]] || die 2 "NODES is 1 or 3, not ${2:-}"
    up "${2:-}"
    ;;
  down) down ;;
  status) status ;;
  watch) watch "$2" ;;
  kill) need_node "${2:-}"; end "$2" ;;
  start) need_node "${2:-}"; need_java; running "$2" || launch "$2"; wait_until_answers "$2" ;;
  -h | --help | help) usage ;;
  *) usage; exit 2 ;;
esac
