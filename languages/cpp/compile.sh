compiler=$0 work=$1
set --
for source in "$work"/*.cpp "$work"/*.cc "$work"/*.cxx; do
  [ -e "$source" ] && set -- "$@" "$source"
done
set -- -std=gnu++20 -O2 -Wall -o "$work/main" "$@" -pthread
# With what is ready, unless that shows: what a message says about a header's place may differ.
if [ -n "$CPLUS_INCLUDE_PATH" ]; then
  said=$("$compiler" "$@" 2>&1) && case $said in
    */usr/* | *"In file included"*) ;;
    *) [ -z "$said" ] || printf '%s\n' "$said" >&2; exit 0 ;;
  esac
  unset CPLUS_INCLUDE_PATH
fi
exec "$compiler" "$@"
