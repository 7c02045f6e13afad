set -e
go=$0 target=$1
shift
export GOMODCACHE="$target/mod" GOFLAGS=-modcacherw
mkdir -p "$target" module
cd module
"$go" mod init sandbox 2>/dev/null
"$go" get -- "$@"
for each; do
  case $each in *@*) version=@${each#*@} ;; *) version= ;; esac
  "$go" get -- "${each%@*}/...$version" >/dev/null 2>&1 || true
done
"$go" mod download
touch go.sum
cp go.mod go.sum "$target"
rm -rf "$target/mod/cache/vcs"
find "$target/mod/cache/download" -name '*.zip' -delete
