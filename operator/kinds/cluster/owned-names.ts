// What belongs to the operator: options of the node that follow from other fields, and names that it gives itself.

import type { Rule } from '../schema/fields.ts'

export const GROUP = 'quarry.dev'

/** Options of `quarry node` and `quarry swarm` that people do not write to `spec.config`, and what is there instead. */
export const OWNED_NODE_OPTIONS = {
  cluster: 'follows from the namespace and the name of the object',
  etcd: 'follows from spec.etcd',
  etcd_user: 'follows from spec.etcd.credentialsSecretRef',
  etcd_password_file: 'follows from spec.etcd.credentialsSecretRef',
  etcd_ca: 'follows from spec.etcd',
  etcd_cert: 'follows from spec.etcd',
  etcd_key: 'follows from spec.etcd',
  data_dir: 'is where the volume of spec.nodes.storage is',
  host: 'is the address of the pod',
  api_port: 'is 8080; spec.clientService.port is the port of the Service',
  health_host: 'is the address of the pod',
  health_port: 'is 4200',
  insecure: 'is set, because the NetworkPolicy decides who may connect',
  advertise_url: 'follows from the name of the pod',
  peer_host: 'is the address of the pod',
  peer_port: 'is 7400',
  node_name: 'is the name of the pod',
  zone: 'follows from the label topology.kubernetes.io/zone of the pod',
  cluster_secret_file: 'is a generated Secret',
  accepted_secret_files: 'is a generated Secret',
  peer_tls_ca: 'belongs to the operator',
  peer_tls_cert: 'belongs to the operator',
  peer_tls_key: 'belongs to the operator',
  peer_names: 'belongs to the operator',
  reload_interval_ms: 'belongs to the operator, which replaces Secrets under running nodes',
  secrets_dir: 'follows from spec.secretStoreRef',
  log_level: 'follows from spec.logLevel',
} as const

/** Options of `quarry inference` that people do not write to `spec.inference.config`. */
export const OWNED_INFERENCE_OPTIONS = {
  host: 'is an address of the pod that only its node reaches',
  port: 'is 8082',
  health_host: 'is the address of the pod',
  health_port: 'belongs to the operator',
  insecure: 'belongs to the operator',
  models_dir: 'is where the volume of spec.inference.modelVolume is',
  preload: 'follows from spec.inference.models',
  log_level: 'follows from spec.logLevel',
} as const

/** One rule for each option, so that the message can say what to write instead. */
export function ownedOptionRules(
  field: string,
  options: Readonly<Record<string, string>>,
): readonly Rule[] {
  return Object.entries(options).map(([option, instead]) => ({
    rule: `!has(self.${option})`,
    message: `${field}.${option} cannot be set: it ${instead}`,
  }))
}

/** For environment variables of a container. */
export function ownedVariablesRule(field: string): Rule {
  return {
    rule: "self.all(variable, !variable.name.startsWith('QUARRY_') && !variable.name.startsWith('POD_'))",
    message: `${field} cannot have names that begin with QUARRY_ or POD_, which belong to the operator; options of the node are written to spec.config`,
  }
}

/** For labels and annotations: the operator selects by its own. */
export function ownedKeysRule(field: string): Rule {
  return {
    rule: `self.all(key, !key.startsWith('app.kubernetes.io/') && !key.startsWith('${GROUP}/'))`,
    message: `${field} cannot have names that begin with app.kubernetes.io/ or ${GROUP}/, which belong to the operator`,
  }
}
