# Four processes that never stop.
for child in 1 2 3; do
  while :; do :; done &
done
while :; do :; done
