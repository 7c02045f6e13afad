go=$0 target=$1
shift
export GOMODCACHE="$target/mod" GOCACHE="$target/build" GOFLAGS=-modcacherw
export GOTOOLCHAIN=local CGO_ENABLED=0
"$go" mod download "$@" && exec "$go" build std
