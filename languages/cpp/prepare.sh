compiler=$0 target=$1
header=$(echo '#include <bits/stdc++.h>' | "$compiler" -std=gnu++20 -E -x c++ - |
  sed -n 's|^# 1 "\(.*/bits/stdc++\.h\)".*|\1|p' | head -n 1)
mkdir "$target/bits" &&
  exec "$compiler" -std=gnu++20 -O2 -Wall -pthread -x c++-header \
    -o "$target/bits/stdc++.h.gch" "$header"
