#!/usr/bin/env bash
# Builds the binary of the optional package faiss-node from its own source and the system's libraries (Debian:
# libfaiss-dev and libopenblas-dev), for indexes with the engine "faiss". Its own install script would fetch one.
set -euo pipefail
cd "$(dirname "$0")/../.."

package=node_modules/faiss-node
[[ -d $package ]] || { echo "faiss-node is not installed" >&2; exit 1; }
api=$(node -p "require('node:path').dirname(require.resolve('node-addon-api', { paths: ['$PWD/$package'] }))")
headers=
for candidate in node_modules/node-*/include/node /usr/include/node; do
  if [[ -z $headers && -e $candidate/node_api.h ]]; then headers=$candidate; fi
done
[[ -n $headers ]] || { echo "the headers of Node are missing" >&2; exit 1; }

# Version 1.7.3 of the library names the type of row numbers otherwise than the source expects.
alias_header=$(mktemp --suffix=.h)
trap 'rm -f "$alias_header"' EXIT
cat >"$alias_header" <<'HEADER'
#include <faiss/Index.h>
namespace faiss { using idx_t = Index::idx_t; }
HEADER

mkdir -p "$package/build/Release"
g++ -O2 -std=c++17 -fPIC -shared -fopenmp -DNAPI_VERSION=6 -include "$alias_header" -I"$api" -I"$headers" \
  "$package/src/faiss.cc" -o "$package/build/Release/faiss-node.node" -lfaiss -lopenblas
node -e "require('faiss-node')"
