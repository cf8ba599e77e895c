// Conditions that are there because somebody asked for it.

import { passing, trouble, well } from '../core/advice.ts'
import type { AdviceOf } from '../core/advice.ts'
import { LOOK } from '../core/commands.ts'

export const PAUSED: AdviceOf<'Paused'> = {
  PausedByAnnotation: trouble(
    'the operator changes nothing, and still writes the status',
    'take the annotation away when you are done: kubectl annotate storecluster CLUSTER quarry.dev/paused-',
    { look: LOOK.annotations },
  ),
}

export const HIBERNATED: AdviceOf<'Hibernated'> = {
  Hibernated: well('no pod runs, and volumes are kept', 'to wake it, set spec.hibernate to false'),
  Hibernating: passing('pods are stopping'),
  Resuming: passing('the cluster wakes'),
}

const safeguard = (means: string, annotation: string) =>
  trouble(means, `take the annotation away as soon as it has served: quarry.dev/${annotation}`, {
    look: LOOK.annotations,
  })

export const SAFEGUARDS_OFF: AdviceOf<'SafeguardsOff'> = {
  DowngradeAllowed: safeguard('a lower minor version is accepted', 'allow-downgrade'),
  DrainForced: safeguard(
    'the node with this ordinal may leave without its documents, which others must have',
    'force-drain-ordinal',
  ),
  HealthGateSkipped: safeguard(
    'restarts do not wait until the cluster is healthy',
    'skip-health-gate',
  ),
  SeveralSafeguardsOff: trouble(
    'several safeguards are off; the message names them',
    'take the annotations away as soon as they have served',
    { look: LOOK.annotations },
  ),
  AnnotationInvalid: trouble(
    'an annotation has a value that means nothing, and is not followed',
    'correct the value, or take the annotation away',
    { look: LOOK.annotations },
  ),
}
