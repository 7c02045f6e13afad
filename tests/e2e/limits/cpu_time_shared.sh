# N ms of processor time, by four processes.
spin() {
  local used=0
  while ((used / 1000000 < $1)); do
    for ((i = 0; i < 1000; i++)); do :; done
    read -r used _ </proc/$BASHPID/schedstat
  done
}
for child in 1 2 3 4; do
  spin $(($1 / 4)) &
done
wait
echo ok
