build=$HOME/cmake-build
cmake -S . -B "$build" >&2 || exit 1
exec cmake --build "$build" --parallel
