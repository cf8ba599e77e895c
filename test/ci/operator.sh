#!/usr/bin/env bash
# The tests that need a Kubernetes, for CI: tier api, then tier node without its long files. Ends with "N passed, M failed".
#   operator.sh build   starts the build of what is missing in the background, and returns at once
#   operator.sh         waits for that build, or builds now; runs both tiers and brings them down
# What is built is kept outside of the checkout, so only the first run on a machine waits for it. The tier of nodes needs root.
set -euo pipefail
cd "$(dirname "$0")/../.."

kube=test/e2e/kube
parts=(kube coredns pause helm)
log=${TMPDIR:-/tmp}/quarry-kube-build-$UID.log

# The tests wait for it, and it takes longer than they do: hardly less urgent than what runs beside it.
export QUARRY_KUBE_NICE=${QUARRY_KUBE_NICE:-5}

if [[ ${1:-} == build ]]; then
  # Nothing of this shell's output: a pipe behind it would wait for the build.
  setsid "$kube/build" "${parts[@]}" >"$log" 2>&1 </dev/null &
  exit
fi

# The build has a lock for each part: one that runs is waited for.
if ! "$kube/build" "${parts[@]}"; then
  if [[ -e $log ]]; then cat "$log" >&2; fi
  echo "0 passed, 1 failed"
  exit 1
fi
results=$(mktemp)
trap 'rm -f "$results"' EXIT
{
  npm run -s test:operator || echo "npm run test:operator failed"
  npm run -s test:e2e -- --short || echo "npm run test:e2e failed"
} | tee "$results"
test/ci/sum-results.sh 2 "$results"
