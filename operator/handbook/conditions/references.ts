// What the spec refers to: whether it fits, and whether Secrets and a PodMonitor are there.

import { trouble, well } from '../core/advice.ts'
import type { AdviceOf } from '../core/advice.ts'
import { LOOK } from '../core/commands.ts'

export const SPEC_VALID: AdviceOf<'SpecValid'> = {
  Valid: well('what the spec refers to is there and fits'),
  InvalidSpec: trouble(
    'fields do not fit with each other or with what is there; nothing is changed until they do',
    'change the field that the message names',
    { look: LOOK.cluster },
  ),
  UnsupportedVersionChange: trouble(
    'the version may go to the next minor one, or back within a minor one',
    'take one minor version after the other; back over one: only with quarry.dev/allow-downgrade, after reading UPGRADING.md',
    { look: LOOK.cluster },
  ),
  ReferenceNotFound: trouble(
    'an object that the spec names is not there',
    'create it, or correct the name',
    { look: LOOK.cluster },
  ),
  NameConflict: trouble(
    'an object with a name that the cluster needs belongs to somebody else; it is left alone',
    'delete or rename that object, or give the cluster another name',
    { look: LOOK.cluster },
  ),
  MalformedObject: trouble(
    'the object does not have the form that this operator knows: its definition is of another version',
    'apply the definition that comes with the operator (crds/), then write the object again',
    { look: LOOK.operatorLog, procedure: 'operatorUpgrade' },
  ),
}

export const SECRETS_READY: AdviceOf<'SecretsReady'> = {
  AllKeysPresent: well('all Secrets have the keys that the spec names'),
  SecretNotFound: trouble(
    'a Secret that the spec names is not there; pods that run stay as they are',
    'create the Secret in the namespace of the cluster, or correct its name',
    { look: LOOK.secrets },
  ),
  KeyMissing: trouble(
    'a Secret lacks a key that the spec names',
    'add the key to the Secret, or correct its name',
    { look: LOOK.secrets },
  ),
  Forbidden: trouble(
    'the operator may not read a Secret that the spec names',
    'give the operator the right to get Secrets in this namespace',
    { look: LOOK.operatorLog },
  ),
}

export const MONITORING_READY: AdviceOf<'MonitoringReady'> = {
  PodMonitorApplied: well('the PodMonitor is there'),
  PodMonitorKindAbsent: trouble(
    'this Kubernetes has no kind PodMonitor: the Prometheus operator brings it',
    'install the Prometheus operator, or set spec.monitoring.podMonitor.enabled to false',
    { look: LOOK.podMonitorKind },
  ),
  Forbidden: trouble(
    'the operator may not make PodMonitors',
    'set rbac.podMonitors to true in the values of the chart',
    { look: LOOK.operatorLog },
  ),
}
