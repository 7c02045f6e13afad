# Downloads one small crate that needs no other.
set -eu
mkdir -p trial/src
cd trial
: >src/lib.rs
printf '%s\n' '[package]' 'name = "trial"' 'version = "0.1.0"' '[dependencies]' 'cfg-if = "1"' >Cargo.toml
exec cargo fetch --quiet
