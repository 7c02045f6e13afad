# The first number of schedstat is the time on a processor, in nanoseconds.
used=0
while ((used / 1000000 < $1)); do
  for ((i = 0; i < 1000; i++)); do :; done
  read -r used _ </proc/$$/schedstat
done
echo ok
