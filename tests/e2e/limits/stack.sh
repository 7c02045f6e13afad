descend() {
  if (($1 % 8 == 0)); then
    while read -r key value _; do
      [[ $key == VmStk: ]] && stack=$((value * 1024))
    done </proc/$$/status
    ((stack >= wanted)) && return
  fi
  descend $(($1 + 1))
}
wanted=$1
descend 0
echo ok
