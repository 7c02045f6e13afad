# In ascending order, because bash opens at the lowest free number and moves it from there.
count=0
for held in /proc/$$/fd/*; do
  [[ -e $held ]] && ((++count)) # one was there only for the listing
done
for ((number = 3; count < $1; number++)); do
  [[ -e /proc/$$/fd/$number ]] && continue
  eval "exec $number</dev/null" || exit 1
  ((++count))
done
echo ok
