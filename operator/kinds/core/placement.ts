// Where pods may run: Kubernetes' affinities, tolerations and spread, with the limits that it leaves open.

import { choice, integer, list, object, optional, text } from '../schema/fields.ts'
import { labelKey, labelKeys, labelSelector, nodeSelectorTerm } from './selectors.ts'

const TERMS_MAX = 16
const TOLERATIONS_MAX = 32
const SPREAD_CONSTRAINTS_MAX = 8
const NAMESPACES_MAX = 16
const WEIGHT_MAX = 100
const TOLERATION_SECONDS_MAX = 2_147_483_647

export function affinity(description: string) {
  return object(description, {
    nodeAffinity: optional(nodeAffinity()),
    podAffinity: optional(podAffinity('Near which pods the pods run.')),
    podAntiAffinity: optional(podAffinity('Away from which pods the pods run.')),
  })
}

function nodeAffinity() {
  return object('On which Kubernetes nodes the pods run.', {
    requiredDuringSchedulingIgnoredDuringExecution: optional(
      object(
        'What a Kubernetes node must have.',
        {
          nodeSelectorTerms: list(
            'Alternatives, of which one must hold.',
            nodeSelectorTerm('One alternative.'),
            { max: TERMS_MAX, min: 1 },
          ),
        },
        { atomic: true },
      ),
    ),
    preferredDuringSchedulingIgnoredDuringExecution: optional(
      list(
        'What a Kubernetes node had better have.',
        object('A wish and how much it counts.', {
          weight: weight(),
          preference: nodeSelectorTerm('The wish.'),
        }),
        { max: TERMS_MAX },
      ),
    ),
  })
}

function podAffinity(description: string) {
  return object(description, {
    requiredDuringSchedulingIgnoredDuringExecution: optional(
      list('What must hold.', podAffinityTerm('One requirement.'), { max: TERMS_MAX }),
    ),
    preferredDuringSchedulingIgnoredDuringExecution: optional(
      list(
        'What had better hold.',
        object('A wish and how much it counts.', {
          weight: weight(),
          podAffinityTerm: podAffinityTerm('The wish.'),
        }),
        { max: TERMS_MAX },
      ),
    ),
  })
}

function podAffinityTerm(description: string) {
  return object(description, {
    topologyKey: labelKey('The label of Kubernetes nodes that says which of them are one place.'),
    labelSelector: optional(labelSelector('The other pods, by their labels.')),
    namespaceSelector: optional(
      labelSelector('The namespaces of the other pods, by their labels; absent: the own one.'),
    ),
    namespaces: optional(
      list(
        'The namespaces of the other pods, by name.',
        text('The name of a namespace.', { max: 63 }),
        { max: NAMESPACES_MAX },
      ),
    ),
    matchLabelKeys: optional(labelKeys('Labels in which the other pods must equal the new one.')),
    mismatchLabelKeys: optional(
      labelKeys('Labels in which the other pods must differ from the new one.'),
    ),
  })
}

function weight() {
  return integer('How much the wish counts.', { min: 1, max: WEIGHT_MAX })
}

export function tolerations(description: string) {
  return list(
    description,
    object('One taint that the pods tolerate.', {
      key: optional(text('The key of the taint; absent: every taint.', { max: 316 })),
      operator: optional(
        choice(
          ['Exists', 'Equal'],
          'Whether the value counts: it does not for Exists. Absent: Equal.',
        ),
      ),
      value: optional(text('The value of the taint, for Equal.', { max: 63 })),
      effect: optional(
        choice(
          ['NoSchedule', 'PreferNoSchedule', 'NoExecute'],
          'The effect of the taint; absent: every effect.',
        ),
      ),
      tolerationSeconds: optional(
        integer(
          'For how many seconds a taint of the effect NoExecute is tolerated; absent: for ever.',
          {
            min: 0,
            max: TOLERATION_SECONDS_MAX,
          },
        ),
      ),
    }),
    { max: TOLERATIONS_MAX },
  )
}

export function topologySpreadConstraints(description: string) {
  return list(
    description,
    object('How evenly the pods are spread over the places of one kind.', {
      maxSkew: integer('By how many pods the fullest place may exceed the emptiest.', {
        min: 1,
        max: 100,
      }),
      topologyKey: labelKey('The label of Kubernetes nodes that says which of them are one place.'),
      whenUnsatisfiable: choice(
        ['DoNotSchedule', 'ScheduleAnyway'],
        'What happens to a pod for which no place is even enough.',
      ),
      labelSelector: optional(
        labelSelector("The pods that are counted, by their labels; absent: the cluster's nodes."),
      ),
      matchLabelKeys: optional(labelKeys('Labels in which counted pods must equal the new one.')),
      minDomains: optional(
        integer('The least number of places, for DoNotSchedule.', { min: 1, max: 100 }),
      ),
      nodeAffinityPolicy: policy('Whether only places that the affinity allows are counted.'),
      nodeTaintsPolicy: policy('Whether only places whose taints are tolerated are counted.'),
    }),
    { max: SPREAD_CONSTRAINTS_MAX },
  )
}

function policy(description: string) {
  return optional(choice(['Honor', 'Ignore'], description))
}
