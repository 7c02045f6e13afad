# Downloads one small package with the client that there is; $1 is the interpreter.
if "$1" -m pip --version >/dev/null 2>&1; then
  exec "$1" -m pip download --quiet --no-deps --only-binary=:all: --dest . six
fi
exec uv pip install --quiet --python "$1" --target . --no-deps six
