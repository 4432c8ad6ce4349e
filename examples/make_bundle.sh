#!/usr/bin/env bash
# Writes examples/garden-lights.bundle again: the same commits, byte for byte.
#
# Every name, address, date and word is invented. Author and committer are the same person, times are
# fixed, and no configuration of the machine is read, so the commit hashes never change.
set -euo pipefail

out="${1:-$(cd "$(dirname "$0")" && pwd)/garden-lights.bundle}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

export LC_ALL=C TZ=UTC HOME="$work" GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
repository="$work/garden-lights"
git init --quiet --template= --initial-branch=main "$repository"
cd "$repository"

ines='Ines Falk <ines@example.org>'
tomas='Tomás Arroyo <tomas@example.org>'
yuki='Yuki Mori <yuki@example.org>'

by() { # by PERSON TIME: who acts from here on, and when
  GIT_AUTHOR_NAME="${1% <*}"; GIT_AUTHOR_EMAIL="${1##*<}"; GIT_AUTHOR_EMAIL="${GIT_AUTHOR_EMAIL%>}"
  GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME"; GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"
  GIT_AUTHOR_DATE="$2"; GIT_COMMITTER_DATE="$2"
  export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
  export GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE
}

commit() { # commit SUBJECT [BODY]
  git add --all
  git commit --quiet --message="$1" ${2:+--message="$2"}
}

project() { # project VERSION LICENSE
  printf '[project]\nname = "garden-lights"\nversion = "%s"\nlicense = "%s"\n' "$1" "$2" > pyproject.toml
}

by "$ines" '2026-01-05T18:00:00+01:00'
project 0.1.0 MIT
printf '%s\n' "$ines" > MAINTAINERS
printf '# garden-lights\n\nSwitches garden lamps at dusk.\n' > README.md
commit 'Start garden-lights' 'A small program that switches the garden lamps.'

by "$ines" '2026-01-12T19:30:00+01:00'
printf 'def at_dusk(lamp):\n    lamp.on()\n' > lights.py
commit 'Switch the lamps on at dusk'

by "$tomas" '2026-01-20T21:15:00+01:00'
printf '\n\ndef after_midnight(lamp):\n    lamp.dim(0.3)\n' >> lights.py
commit 'Dim the lamps after midnight' 'The neighbours asked for darker nights.'

by "$ines" '2026-02-02T10:00:00+01:00'
project 0.2.0 MIT
commit 'Release 0.2.0'

by "$yuki" '2026-02-14T08:45:00+09:00'
project 0.2.0 Apache-2.0
commit 'Change the licence to Apache-2.0' 'All three of us agreed, so that patents are covered as well.'

by "$tomas" '2026-03-03T20:00:00+01:00'
printf '\n\ndef when_raining(lamp):\n    lamp.off()\n' >> lights.py
commit 'Switch the lamps off when it rains'

git branch handover
git switch --quiet handover
by "$yuki" '2026-03-20T09:00:00+09:00'
printf '%s\n' "$yuki" > MAINTAINERS
commit 'Yuki takes over as maintainer' 'Ines moves on to the greenhouse project.'

by "$yuki" '2026-03-22T09:30:00+09:00'
printf '\nThe lamps follow the moon: 月明かり.\n' >> README.md
commit 'Explain the moonlight mode 月明かり'

git switch --quiet main
by "$tomas" '2026-03-21T22:00:00+01:00'
printf '%s\n' "$tomas" > MAINTAINERS
commit 'Tomás takes over as maintainer' 'Ines asked me on the phone.'

by "$tomas" '2026-03-28T18:20:00+01:00'
project 0.3.0 Apache-2.0
commit 'Release 0.3.0'

by "$ines" '2026-04-02T12:00:00+02:00'
git merge --quiet --no-ff -X ours --message='Merge the handover branch' \
  --message='Both of them changed the maintainer; we still have to talk about that.' \
  handover > /dev/null

by "$tomas" '2026-04-18T17:00:00+02:00'
project 0.4.0 Apache-2.0
commit 'Release 0.4.0' 'With the moonlight mode.'

git -c pack.threads=1 bundle create --quiet "$out" main handover
