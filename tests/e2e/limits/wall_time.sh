printf -v seconds '%d.%03d' $(($1 / 1000)) $(($1 % 1000))
sleep "$seconds"
echo ok
