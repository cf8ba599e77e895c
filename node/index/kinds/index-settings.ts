// What each kind of index has set beside its name: each reads its own configuration.

import { ServiceError } from '../../../lib/errors.ts'
import { parseEmbeddingsConfig, showEmbeddingsConfig } from '../../embedding/embeddings-config.ts'
import { whyUnavailable } from '../vector/graph/graph-libraries.ts'

/** The configuration of one kind. */
interface KindSettings {
  /** Checks a client's configuration without name, type and mem_only; INVALID_ARGUMENT names what is wrong. */
  parse(members: Readonly<Record<string, unknown>>, where: string): unknown
  /** The members that a client may send to get these settings. */
  show(settings: unknown): Readonly<Record<string, unknown>>
}

const NOTHING_TO_SET: KindSettings = {
  parse(members, where) {
    const [unknown] = Object.keys(members)
    if (unknown === undefined) return undefined
    const problem = `"${unknown.slice(0, 128)}" is not a setting of a full_text index; leave it out`
    throw new ServiceError('INVALID_ARGUMENT', `${where}: ${problem}`)
  },
  show: () => ({}),
}

const SETTINGS: ReadonlyMap<string, KindSettings> = new Map([
  ['vectors', { parse: parseVectors, show: showEmbeddingsConfig }],
])

export function settingsOfKind(kind: string): KindSettings {
  return SETTINGS.get(kind) ?? NOTHING_TO_SET
}

function parseVectors(members: Readonly<Record<string, unknown>>, where: string): unknown {
  const settings = parseEmbeddingsConfig(members, where)
  const problem = settings.sparse ? undefined : whyUnavailable(settings)
  if (problem === undefined) return settings
  throw new ServiceError('INVALID_ARGUMENT', `${where}: ${problem}`)
}
