// The one place that says which etcd the operator runs where the spec names none.

/** The newest release of the line that nodes are tested with. */
const ETCD_VERSION = '3.6.16'

export const ETCD_IMAGE = `gcr.io/etcd-development/etcd:v${ETCD_VERSION}`
