for ((count = 0; count < $1 / 65536; count++)); do
  printf -v "held[count]" '%*s' 65536 ''
done
while read -r key value _; do
  if [[ $key == VmSwap: ]]; then echo "$value KiB in swap"; fi
done </proc/$$/status
