directory=$(dirname "$1") edition=
while :; do
  edition=$(sed -n 's/^edition *= *"\(20[0-9]*\)".*/\1/p' "$directory/Cargo.toml" 2>/dev/null |
    head -n 1)
  if [ -n "$edition" ] || [ "$directory" = . ] || [ "$directory" = / ]; then break; fi
  directory=$(dirname "$directory")
done
[ -n "$edition" ] || edition=2015
formatted=$(mktemp) || exit 2
trap 'rm -f "$formatted"' EXIT
rustfmt --edition "$edition" <"$1" >"$formatted" || exit 2
diff -u --label "$1" --label "$1" "$1" "$formatted"
