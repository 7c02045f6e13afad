build=$HOME/cmake-build
cmake -S . -B "$build" >&2 && cmake --build "$build" --parallel >&2 || exit 3
exec ctest --test-dir "$build" --output-on-failure --output-junit "$POLYBOX_REPORT" "$@"
