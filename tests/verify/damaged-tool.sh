#!/bin/sh
# Stands for a tool of a project: writes what the real tool wrote, changed by the script `damage` in the directory $store.
# The real tool runs once. Arguments of the test, put in place when the file is copied: @STORE@.
store="@STORE@/${0##*/}-$(printf %s "$1" | tr -cd "[:lower:]")"
report=${POLYBOX_REPORT:-$store/no-report}
PATH=${PATH#*shims:}
if [ ! -e "$store/code" ]; then
  mkdir -p "$store"
  "${0##*/}" "$@" >"$store/out" 2>"$store/err"
  status=$?
  [ ! -f "$report" ] || cp "$report" "$store/report"
  echo "$status" >"$store/code"
fi
work=$(mktemp -d)
out=$work/out err=$work/err last=:
cp "$store/out" "$store/err" "$work"
[ ! -f "$store/report" ] || cp "$store/report" "$report"
code=$(cat "$store/code")

# Keeps the first $1 of $2 parts of what the parser reads.
cut_to() {
  for file in "$out" "$report"; do
    [ -f "$file" ] || continue
    size=$(wc -c <"$file")
    head -c $((size * $1 / $2)) "$file" >"$work/cut"
    cat "$work/cut" >"$file"
  done
}

. "@STORE@/damage"
touch "@STORE@/changed"
same_report() { [ ! -f "$store/report" ] || cmp -s "$store/report" "$report"; }
if [ "$code" = "$(cat "$store/code")" ] && [ "$last" = : ] && cmp -s "$store/out" "$out" && same_report; then
  rm "@STORE@/changed"
fi
cat "$out"
cat "$err" >&2
eval "$last"
exit "$code"
