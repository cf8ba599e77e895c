// Which objects are meant, by their labels.

import { choice, labels, list, object, optional, text } from '../schema/fields.ts'

const KEY_LENGTH_MAX = 316
const VALUE_LENGTH_MAX = 63
const VALUES_MAX = 64
const EXPRESSIONS_MAX = 16

export function labelSelector(description: string) {
  return object(
    description,
    {
      matchLabels: optional(labels('Labels that an object has, all of them.')),
      matchExpressions: optional(
        list(
          'Conditions on labels that an object meets, all of them.',
          object('A condition on one label.', {
            key: labelKey('The label.'),
            operator: choice(
              ['In', 'NotIn', 'Exists', 'DoesNotExist'],
              'How the label relates to the values.',
            ),
            values: optional(labelValues('The values, for In and NotIn.')),
          }),
          { max: EXPRESSIONS_MAX },
        ),
      ),
    },
    { atomic: true },
  )
}

export function labelKey(description: string) {
  return text(description, { max: KEY_LENGTH_MAX, min: 1 })
}

export function labelKeys(description: string) {
  return list(description, labelKey('A label.'), { max: EXPRESSIONS_MAX })
}

function labelValues(description: string) {
  return list(description, text('A value of the label.', { max: VALUE_LENGTH_MAX }), {
    max: VALUES_MAX,
  })
}

/** Which nodes are meant, by their labels or fields. */
export function nodeSelectorTerm(description: string) {
  return object(
    description,
    {
      matchExpressions: optional(requirements("Conditions on the node's labels, all of them.")),
      matchFields: optional(requirements("Conditions on the node's fields, all of them.")),
    },
    { atomic: true },
  )
}

function requirements(description: string) {
  return list(
    description,
    object('A condition on one label or field of a node.', {
      key: labelKey('The label or field.'),
      operator: choice(
        ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'],
        'How the label relates to the values.',
      ),
      values: optional(labelValues('The values; one number for Gt and Lt.')),
    }),
    { max: EXPRESSIONS_MAX },
  )
}
