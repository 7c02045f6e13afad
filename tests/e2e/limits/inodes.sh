there=(*)
for ((count = 1 + ${#there[@]}; count < $1; count++)); do
  : >"file$count" || exit 1
done
echo ok
