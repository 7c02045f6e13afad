# Ten times: N ms of processor time, then nothing until 100 ms are over.
for round in 1 2 3 4 5 6 7 8 9 10; do
  begin=${EPOCHREALTIME/./}
  read -r before _ </proc/$$/schedstat
  used=$before
  while (((used - before) / 1000000 < $1)); do
    for ((i = 0; i < 100; i++)); do :; done
    read -r used _ </proc/$$/schedstat
  done
  left=$((100000 - ${EPOCHREALTIME/./} + begin))
  ((left > 0)) && sleep "0.$(printf %06d $left)"
done
echo ok
