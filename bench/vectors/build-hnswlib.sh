#!/usr/bin/env bash
# Installs hnswlib-node, a peer of the vector benchmark, beside the dependencies, and builds its binary. It is no
# dependency of the project: its install script compiles and fetches the headers of Node, on each machine.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=3.0.0
peers=node_modules/.bench-peers
mkdir -p "$peers"
npm install --prefix "$peers" --no-save --ignore-scripts --no-audit --no-fund "hnswlib-node@$version" >&2

package=$peers/node_modules/hnswlib-node
api=$(node -p "require('node:path').dirname(require.resolve('node-addon-api', { paths: ['$PWD/$package'] }))")
headers=
for candidate in node_modules/node-*/include/node /usr/include/node; do
  if [[ -z $headers && -e $candidate/node_api.h ]]; then headers=$candidate; fi
done
[[ -n $headers ]] || { echo "the headers of Node are missing" >&2; exit 1; }

# The flags that node-gyp would give: SSE, which each 64-bit machine has.
mkdir -p "$package/build/Release"
g++ -O3 -std=c++17 -fPIC -shared -pthread -DNDEBUG -DNAPI_DISABLE_CPP_EXCEPTIONS -I"$api" -I"$headers" \
  "$package/src/addon.cc" -o "$package/build/Release/addon.node"
node -e "require('./$package')"
