for ((count = 0; count < $1 / 65536; count++)); do
  printf -v "held[count]" '%*s' 65536 ''
done
echo ok
