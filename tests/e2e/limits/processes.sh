# When it cannot fork, bash says so and tries again a second later. By then there is room.
for ((count = 1; count < $1; count++)); do
  sleep 0.7 &
done
wait
echo ok
