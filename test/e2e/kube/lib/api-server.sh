# shellcheck shell=bash
# The API server of tier api, for those that start it: `up`, and `restart-api`. D is the directory of the tier.

ready() { "$BIN/kubectl" --request-timeout=2s get --raw=/readyz; }

# shellcheck disable=SC2046
start_apiserver() {
  spawn "$D/apiserver.pid" "$D/apiserver.log" "$BIN/kube-apiserver" $(apiserver_flags "$D/pki" "$D/audit.log") --etcd-servers="http://127.0.0.1:$API_ETCD_PORT" \
    --bind-address=127.0.0.1 --advertise-address=127.0.0.1 --secure-port="$API_PORT" --endpoint-reconciler-type=none --cert-dir="$D/pki"
  until_true 60 ready || { tail -20 "$D/apiserver.log"; return 1; }
}
