// Whether two pod templates mean the same.

import { createHash } from 'node:crypto'
import type { V1PodTemplateSpec, V1StatefulSet } from '@kubernetes/client-node'
import { sorted } from './built.ts'
import type { Built } from './built.ts'
import { ANNOTATIONS } from './names.ts'

/** The same for equal values, whatever the order of their fields. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(stableJson(value)).digest('hex')
}

function stableJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? sorted(Object.fromEntries(Object.entries(part)))
      : part,
  )
}

/**
 * The set that is wanted, with the template that is there if both have one digest. An operator of a newer version may
 * build templates differently; nodes get that with the next change that people make, and are not restarted for it.
 */
export function withKeptTemplate<Set extends Built<V1StatefulSet>>(
  wanted: Set,
  existing: Built<V1StatefulSet> | undefined,
): Set {
  const template = existing?.spec?.template
  if (template === undefined || wanted.spec === undefined) return wanted
  if (writtenDigest(template) !== writtenDigest(wanted.spec.template)) return wanted
  return { ...wanted, spec: { ...wanted.spec, template } }
}

function writtenDigest({ metadata }: Built<V1PodTemplateSpec>): string | undefined {
  return metadata?.annotations?.[ANNOTATIONS.templateDigest]
}
