printf '%*s' "$1" '' >/tmp/file || exit 1
echo ok
