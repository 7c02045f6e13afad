build=$HOME/cmake-coverage
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_C_FLAGS=--coverage -DCMAKE_CXX_FLAGS=--coverage >&2 &&
  cmake --build "$build" --parallel >&2 || exit 3
ctest --test-dir "$build" >&2
tests=$?
gcovr --root . --json "$POLYBOX_REPORT" "$build" >&2 || exit 4
exit "$tests"
