# shellcheck shell=bash
# What the commands of Quarry's e2e cluster share: versions, places, steps with their times, processes by pid file.
set -euo pipefail
export LC_ALL=C PATH="/usr/local/go/bin:$PATH:/usr/local/sbin:/usr/sbin:/sbin"

KIT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
KUBE_VERSION=$(awk '$1 == "k8s.io/kubernetes" {print $2}' "$KIT/src/go.mod")
KIT_HASH=$(cd "$KIT/src" && find . -type f \( -name '*.go' -o -name 'go.*' \) -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-8)
CACHE=${QUARRY_KUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/quarry-kube/$KUBE_VERSION-$KIT_HASH}
STATE=${QUARRY_KUBE_STATE:-/var/tmp/quarry-kube}
BIN=$CACHE/bin

# The 'api' tier is on this machine's loopback; the 'node' tier lives in namespaces of its own and is reached by a tunnel.
API_PORT=${QUARRY_KUBE_API_PORT:-26443}
API_ETCD_PORT=${QUARRY_KUBE_API_ETCD_PORT:-26379}
NODE_PORT=${QUARRY_KUBE_NODE_PORT:-36443}
S3_PORT=${QUARRY_KUBE_S3_PORT:-27070}
NODES=${QUARRY_KUBE_NODES:-3}
FABRIC=10.89.0
SERVICES=10.96.0.0/16
PODS=10.244.0.0/16

die() { echo "quarry-kube: $*" >&2; exit 1; }

now() { local t=${EPOCHREALTIME/./}; echo $((t / 1000)); }

# step TEXT COMMAND...: runs the command and prints one line with its time; its output is shown only when it fails.
step() {
  local text=$1 began code=0 out
  shift
  began=$(now)
  out=$(mktemp)
  "$@" >"$out" 2>&1 </dev/null || code=$?
  printf '%8.1fs  %s%s\n' "$(awk -v a="$began" -v b="$(now)" 'BEGIN {print (b - a) / 1000}')" "$text" "$([ $code = 0 ] || echo '  FAILED')"
  [ $code = 0 ] || sed 's/^/           /' "$out" | tail -40 >&2
  rm -f "$out"
  return $code
}

# until_true SECONDS COMMAND...
until_true() {
  local end=$(($(now) + $1 * 1000))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$(now)" -lt "$end" ] || { "$@" || true; return 1; }
    sleep 0.1
  done
}

# A pid file holds the pid and the moment the process started, so that a pid used again is not taken for it.
born() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
remember() { echo "$1 $(born "$1")" >"$2"; }
alive() {
  local pid='' start=''
  [ -f "$1" ] && read -r pid start <"$1" && [ -n "$start" ] && [ "$(born "$pid")" = "$start" ] &&
    [ "$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -c1)" != Z ]
}
pid_of() { cut -d' ' -f1 "$1"; }
# spawn PIDFILE LOG COMMAND...: a process of its own session that outlives this script, without the lock of `up` (8).
spawn() {
  local pidfile=$1 log=$2
  shift 2
  setsid "$@" >"$log" 2>&1 </dev/null 8>&- &
  remember $! "$pidfile"
  disown $!
}
finish() {
  local signal=TERM _
  if alive "$1"; then
    for signal in TERM KILL; do
      kill -s $signal "$(pid_of "$1")" 2>/dev/null || true
      for _ in {1..50}; do alive "$1" || break 2; sleep 0.1; done
    done
  fi
  rm -f "$1"
}

component() { # a name that the one binary goes by
  [ -x "$BIN/$1" ] || die "$1 is not built: run $KIT/build"
  echo "$BIN/$1"
}

need_built() { "$KIT/build" "$@"; }

apiserver_flags() { # DIR AUDIT-LOG
  echo --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged --profiling=false \
    --service-cluster-ip-range=$SERVICES --service-account-issuer=https://kubernetes.default.svc.cluster.local \
    --service-account-key-file="$1/service-account.key" --service-account-signing-key-file="$1/service-account.key" \
    --client-ca-file="$1/ca.crt" --tls-cert-file="$1/apiserver.crt" --tls-private-key-file="$1/apiserver.key" \
    --kubelet-certificate-authority="$1/ca.crt" --kubelet-preferred-address-types=InternalIP \
    --kubelet-client-certificate="$1/apiserver-kubelet.crt" --kubelet-client-key="$1/apiserver-kubelet.key" \
    --requestheader-client-ca-file="$1/front-proxy-ca.crt" --requestheader-allowed-names=front-proxy-client \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- --enable-aggregator-routing \
    --proxy-client-cert-file="$1/front-proxy.crt" --proxy-client-key-file="$1/front-proxy.key" \
    --default-not-ready-toleration-seconds=15 --default-unreachable-toleration-seconds=15 \
    --audit-policy-file="$KIT/audit-policy.yaml" --audit-log-path="$2" --audit-log-maxsize=1000 -v1
}
controller_manager_flags() { # DIR
  echo --kubeconfig="$1/controller-manager.kubeconfig" --leader-elect=false --use-service-account-credentials \
    --authentication-kubeconfig="$1/controller-manager.kubeconfig" --authorization-kubeconfig="$1/controller-manager.kubeconfig" \
    --root-ca-file="$1/ca.crt" --service-account-private-key-file="$1/service-account.key" \
    --cluster-signing-cert-file="$1/ca.crt" --cluster-signing-key-file="$1/ca.key" \
    --node-monitor-period=2s --node-monitor-grace-period=16s --bind-address=127.0.0.1 --profiling=false -v1
}
etcd_flags() { # DIR CLIENT-URL PEER-URL
  echo --name=e2e --data-dir="$1" --listen-client-urls="$2" --advertise-client-urls="$2" --listen-peer-urls="$3" \
    --initial-advertise-peer-urls="$3" --initial-cluster=e2e="$3" --unsafe-no-fsync --log-level=warn
}

# The 'node' tier's first process, seen from here. Ending it ends every process, mount and network namespace of the cluster.
cluster_init() { cat "/proc/$(pid_of "$STATE/node/cluster.pid")/task/$(pid_of "$STATE/node/cluster.pid")/children" | tr -d ' '; }
in_cluster() { nsenter --target "$(cluster_init)" --mount --net --pid --uts --ipc "$@"; }
