# shellcheck shell=bash
# What the scripts of a release share: steps that say what they are, and one error where one fails. Sourced.

current=
unfinished=()  # what does not stay where a step fails
step() {
  current=$*
  printf '\n== %s\n' "$current"
}

# quietly LOG COMMAND...: its words go to the end of a file, of which a failure shows what went wrong.
quietly() {
  local log=$1 from room
  shift
  from=$(($(stat -c %s "$log" 2>/dev/null || echo 0) + 1))
  "$@" >>"$log" 2>&1 && return 0
  {
    tail -c "+$from" "$log" | grep -E '[Ee]rror|ERROR|FAILED|No space left' | head -n 20 || true
    tail -c "+$from" "$log" | tail -n 20
    echo "(the rest is in $log)"
    # A full disk keeps no words.
    room=$(df --output=avail -k "$(dirname "$log")" | tail -n 1)
    [ "$room" -gt 65536 ] || echo "No room: $room KiB are left on the disk of $log"
  } | sed 's/^/  | /' >&2
  return 1
}

# The one line that begins with "error:"; a script inside has said it where it ended with 3.
end_of_steps() {
  local status=$?
  [ "${#unfinished[@]}" = 0 ] || rm -rf "${unfinished[@]}"
  if [ "$status" != 0 ] && [ "$status" != 3 ]; then
    echo "error: no release was made: '$current' failed" >&2
    status=3
  fi
  exit "$status"
}
trap end_of_steps EXIT
