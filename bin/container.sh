#!/bin/sh
# Entry point of the container. Options serve the workspace of this folder, created at the first start; other words are a command of cleared.
set -eu
if [ ! -e config.yaml ]; then
  cleared init . --name "${CLEARED_NAME:-My Business}" --person "${CLEARED_PERSON:-operator}" >&2
  # shellcheck disable=SC2086 # names, with blanks in between
  cleared add ${CLEARED_AGENTS:-general} >&2
  if [ -n "${CLEARED_ANONYMOUS:-}" ]; then
    names=$(printf %s "$CLEARED_ANONYMOUS" | sed 's/[^a-z0-9_-]\{1,\}/, /g')
    sed -i "s/^anonymous: \[\]/anonymous: [$names]/" trust.yaml
    cleared trust --accept-trust >&2
  fi
  git add -A
  git -c user.name="${CLEARED_PERSON:-operator}" -c user.email=operator@localhost commit -q -m "agent: those of this container"
fi
case "${1:---}" in
  --*) exec cleared start --no-open "$@" ;;
  *) exec cleared "$@" ;;
esac
