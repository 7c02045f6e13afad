# Prints the module proxies and the checksum database that go uses, and a configuration file. The
# notation is that of src/registries/client_answer.h. $1 is the go command.
set -eu
proxies=$("$1" env GOPROXY)
database=$("$1" env GOSUMDB)
echo "registry $proxies"
# The database is off, a host, or a name with a key and then perhaps a URL.
case $database in
  off | "") ;;
  *://*) echo "registry $database" ;;
  *) echo "registry https://${database%%+*}" ;;
esac
echo "file .config/go/env"
for name in GOPROXY GOSUMDB GOPRIVATE GONOPROXY GONOSUMDB GOINSECURE; do
  value=$("$1" env "$name")
  if [ -n "$value" ]; then echo "| $name=$value"; fi
done
